//! Numbers as a user reads them.

/// Formats a number with its noun.
pub(super) fn number(number: u64, noun: &str) -> String {
    let many = match noun {
        _ if number == 1 => noun.to_owned(),
        "branch" => "branches".to_owned(),
        noun => format!("{noun}s"),
    };
    format!("{} {many}", thousands(number))
}

/// Formats a number with commas between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
