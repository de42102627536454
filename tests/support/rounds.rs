//! Number of rounds of random tests: few by default, so that `cargo test` stays short, and more in `.ci/run`.

/// Rounds of a test: what the variable `name` says, else `full` with `LOOM_TEST_ALL`, else `few`.
pub(crate) fn of(name: &str, few: u32, full: u32) -> u32 {
    let usual = if std::env::var_os("LOOM_TEST_ALL").is_some() { full } else { few };
    u32::try_from(number(name, u64::from(usual))).unwrap()
}

/// The number that the variable `name` holds, else `otherwise`.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().unwrap_or_else(|_| panic!("{name}={n} is no number")))
}
