//! Owns the messages of the Extended Events engine: numbers and texts as documented in the list of engine errors.
//!
//! Which number is sent in which case follows the texts. Where that is not certain the function says "assumed".

use crate::simulator::events::statement::Statement;
use crate::simulator::output::Message;

/// 25631: CREATE of a session that exists.
pub fn session_exists(name: &str) -> Message {
    Message::new(
        25631,
        16,
        format!("The event session, \"{name}\", already exists. Choose a unique name for the event session."),
    )
}

/// 15151: ALTER or DROP of a session that does not exist, or that may not be seen. Assumed: `verb` is alter or drop.
pub fn session_missing(verb: &str, name: &str) -> Message {
    Message::new(
        15151,
        16,
        format!("Cannot {verb} the event session '{name}', because it does not exist or you do not have permission."),
    )
}

/// 3609: a trigger rolled the statement back.
pub fn ended_in_trigger() -> Message {
    let text = "The transaction ended in the trigger. The batch has been aborted.";
    Message { state: 2, ..Message::new(3609, 16, text) }
}

/// 25705: START of a running session.
pub fn already_started() -> Message {
    Message::new(25705, 16, "The event session has already been started.")
}

/// 25704: STOP of a stopped session.
pub fn already_stopped() -> Message {
    Message::new(25704, 16, "The event session has already been stopped.")
}

/// 25623: no such event, action or target.
pub fn unknown_object(kind: &str, name: &str) -> Message {
    Message::new(25623, 16, format!("The {kind} name, \"{name}\", is invalid, or the object could not be found"))
}

/// 25625: the event or target is in the session.
pub fn already_in_session(kind: &str, name: &str) -> Message {
    Message::new(
        25625,
        16,
        format!(
            "The {kind}, \"{name}\", already exists in the event session. Object cannot be added to the event session."
        ),
    )
}

/// 25626: twice in one statement.
pub fn specified_twice(kind: &str, name: &str) -> Message {
    Message::new(25626, 16, format!("The {kind}, \"{name}\", was specified multiple times."))
}

/// 25629: no such customizable attribute.
pub fn unknown_attribute(kind: &str, name: &str, attribute: &str) -> Message {
    Message::new(
        25629,
        16,
        format!("For {kind}, \"{name}\", the customizable attribute, \"{attribute}\", does not exist."),
    )
}

/// 25650: a customizable attribute twice.
pub fn attribute_twice(kind: &str, name: &str, attribute: &str) -> Message {
    Message::new(
        25650,
        16,
        format!("For {kind}, \"{name}\" the customizable attribute, \"{attribute}\", was specified multiple times."),
    )
}

/// 25651: a customizable attribute's value is of another type.
pub fn attribute_type(kind: &str, name: &str, attribute: &str, expected: &str) -> Message {
    Message::new(
        25651,
        16,
        format!(
            "For {kind}, \"{name}\", the value specified for customizable attribute, \"{attribute}\", did not match the expected type, \"{expected}\"."
        ),
    )
}

/// 25642: a mandatory attribute is missing.
pub fn mandatory_missing(kind: &str, name: &str) -> Message {
    Message::new(25642, 16, format!("Mandatory customizable attributes are missing for {kind}, \"{name}\"."))
}

/// 25641: a parameter of a target makes no sense; `reason` is a sentence of the target's.
pub fn invalid_parameter(name: &str, parameter: &str, reason: &str) -> Message {
    Message::new(
        25641,
        16,
        format!("For target, \"{name}\", the parameter \"{parameter}\" passed is invalid. {reason}"),
    )
}

/// 25643: an event that may not block, in a session without event loss.
pub fn no_event_loss(name: &str) -> Message {
    Message::new(
        25643,
        16,
        format!("The event, \"{name}\", can not be added to an event session that specifies no event loss."),
    )
}

/// 25653: DROP of an event or target that is not in the session.
pub fn not_in_session(kind: &str, name: &str) -> Message {
    Message::new(
        25653,
        16,
        format!(
            "The {kind}, \"{name}\", does not exist in the event session. Object cannot be dropped from the event session."
        ),
    )
}

/// 25630: a predicate function is given a value of another type than it compares.
pub fn mismatching_types(event: &str) -> Message {
    Message::new(25630, 16, format!("The predicate expression bound to event ,\"{event}\", has mismatching types."))
}

/// 25636: a predicate function does not compare the source's type.
pub fn source_and_comparator() -> Message {
    Message::new(25636, 16, "Source and comparator types of the predicate do not match.")
}

/// 25706: no such field, predicate source or predicate function.
pub fn predicate_name(kind: &str, name: &str) -> Message {
    Message::new(25706, 16, format!("The {kind}, \"{name}\", could not be found."))
}

/// 25713: a value that the field cannot have.
pub fn predicate_value(source: &str, event: &str) -> Message {
    Message::new(
        25713,
        16,
        format!(
            "The value specified for event attribute or predicate source, \"{source}\", event, \"{event}\", is invalid."
        ),
    )
}

/// 25715: the operator is not defined for the field's type.
pub fn predicate_operator(event: &str, operator: &str, type_name: &str, source: &str) -> Message {
    Message::new(
        25715,
        16,
        format!(
            "The predicate on event \"{event}\" is invalid. Operator '{operator}' is not defined for type \"{type_name}\", event attribute or predicate source: \"{source}\"."
        ),
    )
}

/// 25716: the predicate is longer than 3000 characters.
pub fn predicate_too_long(event: &str, limit: usize) -> Message {
    Message::new(
        25716,
        16,
        format!("The predicate on event, \"{event}\", exceeds the maximum length of {limit} characters."),
    )
}

/// 25702: an option twice.
pub fn option_twice(option: &str) -> Message {
    Message::new(
        25702,
        16,
        format!(
            "The event session option, \"{option}\", is set more than once. Remove the duplicate session option and re-issue the statement."
        ),
    )
}

/// 25703: an option's value makes no sense.
pub fn option_invalid(option: &str) -> Message {
    Message::new(
        25703,
        16,
        format!(
            "The event session option, \"{option}\", has an invalid value. Correct the value and re-issue the statement."
        ),
    )
}

/// 25707: an option that cannot change while the session runs.
pub fn option_while_running(option: &str) -> Message {
    Message::new(
        25707,
        16,
        format!(
            "Event session option \"{option}\" cannot be changed while the session is running. Stop the event session before changing this session option."
        ),
    )
}

/// 25708: an option above its limit.
pub fn option_too_large(option: &str) -> Message {
    Message::new(
        25708,
        16,
        format!("The \"{option}\" specified exceeds the maximum allowed value. Specify a smaller configuration value."),
    )
}

/// 25640: MAX_EVENT_SIZE below the session's memory.
pub fn event_size() -> Message {
    Message::new(
        25640,
        16,
        "Maximum event size is smaller than configured event session memory. Specify a larger value for maximum event size, or specify 0.",
    )
}

/// 25632: a buffer below the least size.
pub fn buffer_too_small(least: u64) -> Message {
    Message::new(
        25632,
        16,
        format!("The specified buffer size is less than the minimum size. The minimum allowed size is {least} bytes."),
    )
}

/// 15247: no permission. Assumed for event sessions.
pub fn no_permission() -> Message {
    Message::new(15247, 16, "User does not have permission to perform this action.")
}

/// 103: an identifier of more than 128 characters.
pub fn identifier_too_long(name: &str) -> Message {
    let start: String = name.chars().take(128).collect();
    Message::new(103, 15, format!("The identifier that starts with '{start}' is too long. Maximum length is 128."))
}

/// 1038: `[]` or `""` as a name.
pub fn empty_name() -> Message {
    Message::new(1038, 15, "An object or column name is missing or empty. Names written as [] or \"\" are not allowed.")
}

/// 191: nesting beyond what the parser takes.
pub fn nested_too_deeply() -> Message {
    Message::new(
        191,
        15,
        "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
    )
}

/// 25644: the only event of a running session cannot be dropped. Assumed: whether, and with which number.
pub fn last_event(name: &str) -> Message {
    Message::new(25644, 16, format!("The event, \"{name}\", cannot be bound to the event session."))
}

/// 25737: a session on the server, or in a system database, of Azure SQL Database.
pub fn azure_scope() -> Message {
    let text =
        "Database scoped extended event sessions are not available in server scope or system databases in Azure DB.";
    Message::new(25737, 16, text)
}

const MEMORY_LIMIT: &str = "Operation failed. Operation will cause database event session memory to exceed allowed limit. Event session memory may be released by stopping active sessions or altering session memory options. Check sys.dm_xe_database_sessions for active sessions that can be stopped or altered.";

/// 25746: the sessions of a database would have too much memory.
pub fn database_memory() -> Message {
    Message::new(25746, 16, MEMORY_LIMIT)
}

/// 25747: the sessions of several databases would.
pub fn pool_memory() -> Message {
    let text = "If no sessions are active on this database, please check sessions running on other databases under the same logical server.";
    Message::new(25747, 16, format!("{MEMORY_LIMIT} {text}"))
}

/// What Amazon RDS answers on Express and Web: its trigger's own message and the end of the transaction; ALTER says that
/// there is no such session.
pub fn refused_by_edition(statement: &Statement) -> Vec<Message> {
    if let Statement::Alter { name, .. } = statement {
        return vec![session_missing("alter", name)];
    }
    let text = "Unable to create/alter extended events session: RDS for SQL Server supports extended events only for the Enterprise and Standard Editions";
    vec![Message::new(50000, 16, text), ended_in_trigger()]
}
