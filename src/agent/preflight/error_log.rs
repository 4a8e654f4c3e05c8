//! Owns what a capture leaves in the server's error log: lines that no clean-up takes back.

/// The first cumulative update of SQL Server 2022, by its build, that does not tell of event sessions any more (CU15).
const QUIET_BUILD_OF_2022: u32 = 4145;

/// Lines of a number of event sessions, messages 25753 and 25754: SQL Server 2022 wrote one for each start and stop
/// until CU15 (published answer of the product's support).
pub(in crate::agent) fn of_sessions(product_version: &str, sessions: u64) -> u64 {
    let numbers: Vec<Option<u32>> = product_version.split('.').map(|part| part.parse().ok()).collect();
    if !matches!(numbers.as_slice(), [Some(16), Some(0), Some(build), ..] if *build < QUIET_BUILD_OF_2022) {
        return 0;
    }
    2 * sessions
}

/// Lines of the opt-in to trace flags at most, messages 17550 and 17551: each flag on and off for the connection, and on
/// and off globally.
pub(in crate::agent) fn of_flags(flags: usize) -> u64 {
    4 * flags as u64
}

/// Both in words, where there are any.
pub(in crate::agent) fn in_words(of_sessions: u64, of_flags: u64) -> Option<String> {
    let sessions = (of_sessions > 0).then(|| format!("{of_sessions} lines of event sessions (25753, 25754)"));
    let flags = (of_flags > 0).then(|| format!("up to {of_flags} lines of trace flags (17550, 17551)"));
    let told: Vec<String> = sessions.into_iter().chain(flags).collect();
    (!told.is_empty()).then(|| format!("the server's error log will hold {}", told.join(" and ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{in_words, of_sessions};

    #[test]
    fn sessions_are_logged_on_2022_before_cu15_only() {
        for (version, of_one, of_three) in [
            ("16.0.1000.6", 2, 6),
            ("16.0.4135.4", 2, 6),
            ("16.0.4145.4", 0, 0),
            ("15.0.4123.1", 0, 0),
            ("17.0.1000.7", 0, 0),
            ("16", 0, 0),
            ("", 0, 0),
            ("x.y.z", 0, 0),
        ] {
            assert_eq!([1, 3].map(|sessions| of_sessions(version, sessions)), [of_one, of_three], "{version}");
        }
    }

    #[test]
    fn nothing_is_told_where_nothing_is_logged() {
        assert_eq!(in_words(0, 0), None);
        assert_eq!(
            in_words(2, 8).as_deref(),
            Some(
                "the server's error log will hold 2 lines of event sessions (25753, 25754) and up to 8 lines of trace flags \
                 (17550, 17551)"
            )
        );
    }
}
