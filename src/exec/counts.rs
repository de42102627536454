//! Numbers and counts with their nouns, in text for models and people.

/// Formats a count with its noun: `3 continuations`, `1 branch`, `2 branches`, `2 replies`, `2 leaves`.
#[must_use]
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {}", plural(noun)),
    }
}

/// Formats a count with its noun as [`count`] does, with commas between thousands: `1,200 replies`.
#[must_use]
pub fn count_grouped(number: u64, noun: &str) -> String {
    let noun = if number == 1 { noun.to_owned() } else { plural(noun) };
    format!("{} {noun}", thousands(number))
}

/// Formats a number with commas between thousands: `1,234,567`.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the plural of a noun: `continuations`, `branches`.
pub(super) fn plural(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix("leaf") {
        return format!("{stem}leaves");
    }
    match noun.strip_suffix("ly") {
        Some(stem) => format!("{stem}lies"),
        None if noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_noun() {
        assert_eq!(count(1u32, "branch"), "1 branch");
        assert_eq!(count(2u32, "branch"), "2 branches");
        assert_eq!(count(0u32, "node"), "0 nodes");
        assert_eq!([1, 12_000].map(|number| count_grouped(number, "reply")), ["1 reply", "12,000 replies"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
