//! Counts with their nouns, in text for models and people.

/// Formats a count with its noun: `3 continuations`, `1 branch`, `2 branches`, `2 replies`, `2 leaves`.
#[must_use]
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {}", plural(noun)),
    }
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
    }
}
