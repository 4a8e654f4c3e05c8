//! Owns what the numbers of errors mean that a server answers to the statements of event sessions. Texts are localised
//! and never looked at.

/// What a refused CREATE or START means for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A right is missing.
    Permission,
    /// A session of that name exists.
    Exists,
    /// There are no event sessions to be had here now, whatever their definition.
    Unavailable,
    /// A trigger of the server's has undone it.
    Trigger,
    /// This build does not take the definition.
    Definition,
    /// Nothing that is about event sessions.
    Other,
}

/// Permission denied on an object, in a database, on the server; `User does not have permission to perform this action.`
const PERMISSION: [u32; 5] = [229, 262, 297, 300, 15247];
/// `The event session, …, already exists.`
const EXISTS: u32 = 25631;
/// Out of memory, in the server and in its engine of Extended Events; the engine disabled by startup options, in two
/// forms; the caps of Azure SQL Database on the memory of a session and of all sessions.
const UNAVAILABLE: [u32; 6] = [701, 25601, 25604, 25607, 25746, 25747];
/// `The transaction ended in the trigger. The batch has been aborted.`
const ENDED_IN_TRIGGER: u32 = 3609;
/// Incorrect syntax, near a token and near a keyword.
const SYNTAX: [u32; 2] = [102, 156];
/// The options of a session: twice, invalid, not now, too large.
const OPTION: [u32; 4] = [25702, 25703, 25707, 25708];
/// The messages of Extended Events.
const EXTENDED_EVENTS: std::ops::RangeInclusive<u32> = 25600..=25799;
/// From here on the numbers are those of RAISERROR and THROW: code that runs beside the statement, such as a trigger's.
const FIRST_USER_ERROR: u32 = 50_000;

/// What it means that CREATE or START was refused with a number, on an edition as SERVERPROPERTY names it.
pub(super) fn of_refusal(number: u32, edition: &str) -> Meaning {
    match number {
        EXISTS => Meaning::Exists,
        ENDED_IN_TRIGGER => Meaning::Trigger,
        // A hosted server keeps its small editions from Extended Events by a trigger of the host's.
        number if is_raised(number) && is_small(edition) => Meaning::Unavailable,
        number if is_raised(number) => Meaning::Trigger,
        number if PERMISSION.contains(&number) => Meaning::Permission,
        number if UNAVAILABLE.contains(&number) => Meaning::Unavailable,
        number if SYNTAX.contains(&number) || EXTENDED_EVENTS.contains(&number) => Meaning::Definition,
        _ => Meaning::Other,
    }
}

/// Whether a number says that a right is missing.
pub(super) fn is_permission(number: Option<u32>) -> bool {
    number.is_some_and(|number| PERMISSION.contains(&number))
}

/// Whether a number can be about an option that this build does not take.
pub(super) fn is_of_option(number: u32) -> bool {
    SYNTAX.contains(&number) || OPTION.contains(&number)
}

/// Whether an error is one of RAISERROR or THROW. The statement beside which it was raised may stand all the same.
pub(super) fn is_raised(number: u32) -> bool {
    number >= FIRST_USER_ERROR
}

fn is_small(edition: &str) -> bool {
    ["Express", "Web"].iter().any(|small| edition.starts_with(small))
}

#[cfg(test)]
mod tests {
    use super::{Meaning, is_of_option, is_raised, of_refusal};

    #[test]
    fn numbers_and_edition_tell_what_a_refusal_means() {
        const ENTERPRISE: &str = "Enterprise Edition: Core-based Licensing (64-bit)";
        for (number, edition, meaning) in [
            (15247, ENTERPRISE, Meaning::Permission),
            (262, ENTERPRISE, Meaning::Permission),
            (25631, ENTERPRISE, Meaning::Exists),
            (25601, ENTERPRISE, Meaning::Unavailable),
            (25604, ENTERPRISE, Meaning::Unavailable),
            (25607, ENTERPRISE, Meaning::Unavailable),
            (25747, "SQL Azure", Meaning::Unavailable),
            (3609, ENTERPRISE, Meaning::Trigger),
            (3609, "Express Edition (64-bit)", Meaning::Trigger),
            (50_000, ENTERPRISE, Meaning::Trigger),
            (50_000, "Express Edition (64-bit)", Meaning::Unavailable),
            (50_000, "Web Edition (64-bit)", Meaning::Unavailable),
            (25602, ENTERPRISE, Meaning::Definition),
            (25623, ENTERPRISE, Meaning::Definition),
            (25629, ENTERPRISE, Meaning::Definition),
            (25640, ENTERPRISE, Meaning::Definition),
            (25641, ENTERPRISE, Meaning::Definition),
            (25706, ENTERPRISE, Meaning::Definition),
            (102, ENTERPRISE, Meaning::Definition),
            (1222, ENTERPRISE, Meaning::Other),
            (15151, ENTERPRISE, Meaning::Other),
        ] {
            assert_eq!(of_refusal(number, edition), meaning, "{number} on {edition}");
        }
        assert!(is_of_option(102) && is_of_option(25703) && !is_of_option(25602) && !is_of_option(15247));
        assert!(is_raised(50_000) && !is_raised(49_999));
    }
}
