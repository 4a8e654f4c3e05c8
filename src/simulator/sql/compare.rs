//! Owns comparing values of one type: order, equality keys for grouping and joining, LIKE.

use crate::simulator::value::Datum;

pub(super) use crate::simulator::collation::Collation;
use std::cmp::Ordering;

/// The order of two values of one type; NULL comes first, as in ORDER BY.
pub(super) fn order(left: &Datum, right: &Datum, collation: Collation) -> Ordering {
    match (left, right) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Less,
        (_, Datum::Null) => Ordering::Greater,
        (Datum::Bit(left), Datum::Bit(right)) => left.cmp(right),
        (Datum::Int(left), Datum::Int(right)) | (Datum::Time(left), Datum::Time(right)) => left.cmp(right),
        (Datum::Float(left), Datum::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Datum::Decimal(left), Datum::Decimal(right)) => left.cmp(right),
        (Datum::Text(left), Datum::Text(right)) => order_text(left, right, collation),
        (Datum::Binary(left), Datum::Binary(right)) => left.cmp(right),
        // uniqueidentifier compares its last group first.
        (Datum::Guid(left), Datum::Guid(right)) => (left.get(10..), left).cmp(&(right.get(10..), right)),
        (Datum::Variant(left_type, left), Datum::Variant(right_type, right)) if left_type == right_type => {
            order(left, right, collation)
        }
        (Datum::Variant(_, left), Datum::Variant(_, right)) => kind(left)
            .cmp(&kind(right))
            .then_with(|| if kind(left) == kind(right) { order(left, right, collation) } else { Ordering::Equal }),
        _ => kind(left).cmp(&kind(right)),
    }
}

/// Tells values of different kinds apart where variants meet.
fn kind(value: &Datum) -> u8 {
    match value {
        Datum::Null => 0,
        Datum::Binary(_) => 1,
        Datum::Text(_) => 2,
        Datum::Guid(_) => 3,
        Datum::Bit(_) | Datum::Int(_) => 4,
        Datum::Decimal(_) => 5,
        Datum::Float(_) => 6,
        Datum::Time(_) => 7,
        Datum::Variant(..) => 8,
    }
}

fn order_text(left: &str, right: &str, collation: Collation) -> Ordering {
    // Trailing spaces do not count.
    let (left, right) = (left.trim_end_matches(' '), right.trim_end_matches(' '));
    if collation.tells_case() {
        return left.cmp(right);
    }
    let weights = |text: &str| text.chars().map(|c| weight(c, collation)).collect::<Vec<_>>();
    weights(left).cmp(&weights(right))
}

/// Punctuation before digits before letters, without case.
fn weight(c: char, collation: Collation) -> (u8, char) {
    let folded = collation.fold(c);
    let class = if folded.is_alphabetic() { 2 } else { u8::from(folded.is_numeric()) };
    (class, folded)
}

/// What is equal for two values that compare equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Null,
    Number(i128),
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    Variant(Box<Key>),
}

impl Key {
    pub(super) fn new(value: &Datum, collation: Collation) -> Self {
        match value {
            Datum::Null => Self::Null,
            Datum::Bit(bit) => Self::Number(i128::from(*bit)),
            Datum::Int(number) | Datum::Time(number) => Self::Number(i128::from(*number)),
            Datum::Decimal(unscaled) => Self::Number(*unscaled),
            // 0.0 and -0.0 are equal.
            Datum::Float(float) => Self::Float(if *float == 0.0 { 0 } else { float.to_bits() }),
            Datum::Text(text) => {
                let trimmed = text.trim_end_matches(' ');
                Self::Text(trimmed.chars().map(|c| collation.fold(c)).collect())
            }
            Datum::Binary(bytes) => Self::Bytes(bytes.clone()),
            Datum::Guid(bytes) => Self::Bytes(bytes.to_vec()),
            Datum::Variant(_, inner) => Self::Variant(Box::new(Self::new(inner, collation))),
        }
    }
}

/// A part of a LIKE pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Literal(char),
    Set { negated: bool, ranges: Vec<(char, char)> },
}

/// Whether text matches a LIKE pattern. `None` for an escape that is not one character (error 506).
pub(super) fn like(text: &str, pattern: &str, escape: Option<&str>, collation: Collation) -> Option<bool> {
    let escape = match escape {
        None => None,
        Some(escape) => {
            let mut characters = escape.chars();
            let only = characters.next()?;
            if characters.next().is_some() {
                return None;
            }
            Some(only)
        }
    };
    let pieces = pieces(pattern, escape);
    let text: Vec<char> = text.chars().collect();
    Some(matches_pieces(&text, &pieces, collation))
}

fn pieces(pattern: &str, escape: Option<char>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        if Some(c) == escape {
            pieces.extend(rest.next().map(Piece::Literal));
            continue;
        }
        pieces.push(match c {
            '%' => Piece::Any,
            '_' => Piece::One,
            '[' => {
                let negated = rest.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                while let Some(member) = rest.next() {
                    if member == ']' {
                        break;
                    }
                    let member = if Some(member) == escape { rest.next().unwrap_or(member) } else { member };
                    let mut high = member;
                    if rest.peek() == Some(&'-') {
                        let mut ahead = rest.clone();
                        ahead.next();
                        if let Some(end) = ahead.next().filter(|end| *end != ']') {
                            rest = ahead;
                            high = end;
                        }
                    }
                    ranges.push((member, high));
                }
                Piece::Set { negated, ranges }
            }
            literal => Piece::Literal(literal),
        });
    }
    pieces
}

/// Greedy matching that returns to the last `%` only: time is at most text times pattern.
fn matches_pieces(text: &[char], pieces: &[Piece], collation: Collation) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pieces.get(piece), text.get(at)) {
            (Some(Piece::Any), _) => {
                retry = Some((piece + 1, at));
                piece += 1;
                continue;
            }
            (Some(wanted), Some(c)) if matches_one(wanted, *c, collation) => {
                piece += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            // LIKE keeps the text's trailing spaces out of account where the pattern has none left.
            (None, Some(_)) if text.get(at..).is_some_and(|rest| rest.iter().all(|c| *c == ' ')) => return true,
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                retry = Some((after, from + 1));
                piece = after;
                at = from + 1;
            }
            _ => return false,
        }
    }
}

fn matches_one(piece: &Piece, c: char, collation: Collation) -> bool {
    let same = |left: char, right: char| collation.fold(left) == collation.fold(right);
    match piece {
        Piece::Any => false,
        Piece::One => true,
        Piece::Literal(literal) => same(*literal, c),
        Piece::Set { negated, ranges } => {
            let weight = |c: char| weight(c, collation);
            let inside = ranges.iter().any(|(low, high)| {
                if collation.tells_case() {
                    (*low..=*high).contains(&c)
                } else {
                    (weight(*low)..=weight(*high)).contains(&weight(c))
                }
            });
            inside != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Collation, like};

    #[test]
    fn like_knows_wildcards_sets_and_escapes() {
        for (text, pattern, expected) in [
            ("SOS_SCHEDULER_YIELD", "sos%", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("a%c", "a[%]c", true),
            ("abc", "a[%]c", false),
            ("b5", "[a-c][0-9]", true),
            ("d5", "[^a-c]%", true),
            ("a-", "a[x-]", true),
            ("", "%", true),
            ("abc  ", "abc", true),
            ("abc", "abc ", false),
            ("aXbXc", "a%X%c", true),
        ] {
            assert_eq!(like(text, pattern, None, Collation::CaseInsensitive), Some(expected), "{text} LIKE {pattern}");
        }
        assert_eq!(like("A", "a", None, Collation::CaseSensitive), Some(false));
        assert_eq!(like("50%", "50!%", Some("!"), Collation::CaseInsensitive), Some(true));
        assert_eq!(like("50x", "50!%", Some("!"), Collation::CaseInsensitive), Some(false));
        assert_eq!(like("a", "a", Some("!!"), Collation::CaseInsensitive), None);
    }
}
