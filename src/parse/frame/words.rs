//! Owns the words of a line: split at white space, but names with blanks stay whole.

/// Operators whose signs are no brackets, longest first.
const OPERATORS: [&str; 12] = ["<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "<"];

/// A word and where it starts in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
}

/// The words of a line. Blanks within `<...>`, `(...)` and `` `...' `` do not split, unless a bracket is never closed.
pub(super) fn words(line: &str) -> Vec<Word<'_>> {
    split(line, true).unwrap_or_else(|| split(line, false).unwrap_or_default())
}

#[derive(Default)]
struct Depth {
    angle: usize,
    paren: usize,
    quote: usize,
}

impl Depth {
    fn is_outside(&self) -> bool {
        self.angle == 0 && self.paren == 0 && self.quote == 0
    }
}

fn split(line: &str, brackets: bool) -> Option<Vec<Word<'_>>> {
    let mut words = Vec::new();
    let mut depth = Depth::default();
    let mut start = None;
    let mut operator_end = 0;
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        if c.is_whitespace() && depth.is_outside() {
            push(&mut words, line, start.take(), at);
        } else {
            start.get_or_insert(at);
        }
        if brackets && at >= operator_end {
            if c == 'o' && !(previous.is_alphanumeric() || previous == '_') {
                operator_end = operator(line, at);
            }
            match c {
                '<' if follows_name(line, at) => depth.angle += 1,
                '>' if previous != '-' => depth.angle = depth.angle.saturating_sub(1),
                '(' => depth.paren += 1,
                ')' => depth.paren = depth.paren.saturating_sub(1),
                '`' if !is_address_tick(line, at) => depth.quote += 1,
                '\'' => depth.quote = depth.quote.saturating_sub(1),
                _ => {}
            }
        }
        previous = c;
    }
    push(&mut words, line, start, line.len());
    depth.is_outside().then_some(words)
}

fn push<'t>(words: &mut Vec<Word<'t>>, line: &'t str, start: Option<usize>, end: usize) {
    if let Some(start) = start
        && let Some(text) = line.get(start..end)
    {
        words.push(Word { text, start });
    }
}

/// Where `operator<`, `operator->` and their like end; `at` itself where there is none.
fn operator(line: &str, at: usize) -> usize {
    let Some(signs) = line.get(at..).and_then(|rest| rest.strip_prefix("operator")) else { return at };
    let sign = OPERATORS.into_iter().find(|sign| signs.starts_with(sign)).map_or(0, str::len);
    at + "operator".len() + sign
}

/// A template's bracket stands at a name's end, or starts a name such as `<lambda_1>`; a lonely one is a comparison.
fn follows_name(line: &str, at: usize) -> bool {
    line.get(at + 1..).and_then(|rest| rest.chars().next()).is_some_and(|next| !next.is_whitespace())
}

/// The backtick of a debugger's address, ``00007ff8`12345678``.
fn is_address_tick(line: &str, at: usize) -> bool {
    let bytes = line.as_bytes();
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
    let before = at.checked_sub(1).and_then(|last| bytes.get(last)).is_some_and(is_digit);
    let after = bytes.get(at + 1..at + 9).is_some_and(|low| low.iter().all(is_digit));
    before && after
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_with_blanks_stay_whole() {
        for (line, expected) in [
            (
                "NTGroupInfo::`vector deleting destructor' X::Y",
                vec!["NTGroupInfo::`vector deleting destructor'", "X::Y"],
            ),
            ("CMemPartitioned<CMemThread<CMemObj> >::Alloc", vec!["CMemPartitioned<CMemThread<CMemObj> >::Alloc"]),
            ("A<Foo * __ptr64>::operator< B::C", vec!["A<Foo * __ptr64>::operator<", "B::C"]),
            ("A::operator-> B::operator>> C::d", vec!["A::operator->", "B::operator>>", "C::d"]),
            ("SequencedObject,0>::Wait+0x1 B::C", vec!["SequencedObject,0>::Wait+0x1", "B::C"]),
            ("a < b", vec!["a", "<", "b"]),
            ("Foo<never closed B::C", vec!["Foo<never", "closed", "B::C"]),
            ("Module(a+1) (Ordinal298 + 04A5)", vec!["Module(a+1)", "(Ordinal298 + 04A5)"]),
            ("00 000000aa`bb00cc00 00007ff8`12345678 a!b", vec!["00", "000000aa`bb00cc00", "00007ff8`12345678", "a!b"]),
            ("`CX::Y'::`1'::catch$2+0x3d", vec!["`CX::Y'::`1'::catch$2+0x3d"]),
            ("", vec![]),
        ] {
            assert_eq!(words(line).iter().map(|word| word.text).collect::<Vec<_>>(), expected, "{line}");
        }
    }
}
