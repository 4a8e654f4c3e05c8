//! Owns the patterns over symbol names.

use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// A pattern over a whole symbol name, case-sensitive: `*` stands for any run of characters, everything else for
/// itself. `Spinlock<*>::SpinToAcquire*` matches `Spinlock<143,7,1>::SpinToAcquireOptimistic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// A pattern; `None` for empty text.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self { text: text.to_owned() })
    }

    /// Whether the whole of `symbol` matches. Takes time proportional to the product of the lengths at worst.
    pub fn matches(&self, symbol: &str) -> bool {
        let mut pieces = self.text.split('*');
        let Some(mut rest) = pieces.next().and_then(|head| symbol.strip_prefix(head)) else { return false };
        let Some(tail) = pieces.next_back() else { return rest.is_empty() };
        for piece in pieces {
            let Some((_, after)) = rest.split_once(piece) else { return false };
            rest = after;
        }
        rest.ends_with(tail)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).ok_or_else(|| de::Error::custom("a pattern cannot be empty"))
    }
}

/// Whether any of the patterns matches.
pub(super) fn any_matches(patterns: &[Pattern], symbol: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(symbol))
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_stand_for_any_run_and_the_rest_for_itself() {
        for (pattern, symbol, expected) in [
            ("SpinlockBase::Sleep", "SpinlockBase::Sleep", true),
            ("SpinlockBase::Sleep", "SpinlockBase::Sleep2", false),
            ("SpinlockBase::Sleep", "XSpinlockBase::Sleep", false),
            ("SpinlockBase::Backoff", "LogAppendContext::BackOff", false),
            ("Spinlock<*>::SpinToAcquire*", "Spinlock<143,7,1>::SpinToAcquireWithExponentialBackoff", true),
            ("Spinlock<*>::SpinToAcquire*", "Spinlock<143,7,1>::Release", false),
            ("*::Publish", "XeSosPkg::wait_info::Publish", true),
            ("*::Publish", "::Publish", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*", "", true),
            ("a*b*c", "a_c_b_c", true),
            ("a*b*c", "a_c_b", false),
            ("a**c", "abc", true),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().matches(symbol), expected, "{pattern} on {symbol}");
        }
        assert_eq!(Pattern::new(""), None);
    }
}
