//! Owns how text of any origin fits a width: hostile characters made visible, names shortened, sentences wrapped.

use unicode_width::UnicodeWidthChar;

/// What stands for the part left out of a name.
const ELLIPSIS: &str = "...";

const NO_BREAK: &str = "\u{a0}";

/// Units that stand after a space.
const UNITS: [&str; 2] = ["%", "ms"];

/// The text with every character shown that would otherwise move the cursor, be invisible or turn the line around:
/// control and format characters and combining marks appear as `\n` or `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let soft_or_separator = matches!(character, '\u{ad}' | '\u{2028}' | '\u{2029}');
        let has_place = !soft_or_separator && matches!(character.width(), Some(1 | 2));
        if has_place {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
    }
    shown
}

/// Columns that visible text takes on a terminal.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(column_count).sum()
}

fn column_count(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// A visible name cut in the middle to at most `width` columns.
pub(super) fn shorten(name: &str, width: usize) -> String {
    if columns(name) <= width {
        return name.to_owned();
    }
    let room = width.saturating_sub(ELLIPSIS.len());
    let tail_room = room / 2;
    let head = take_columns(name.chars(), room - tail_room);
    let tail: String = take_columns(name.chars().rev(), tail_room).chars().rev().collect();
    format!("{head}{}{tail}", ELLIPSIS.get(..width.min(ELLIPSIS.len())).unwrap_or_default())
}

/// Visible text cut at its end to at most `width` columns.
pub(super) fn cut_end(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept = take_columns(text.chars(), width.saturating_sub(ELLIPSIS.len()));
    format!("{}{}", kept.trim_end(), ELLIPSIS.get(..width.min(ELLIPSIS.len())).unwrap_or_default())
}

/// Two visible names that shall fit `width` columns together: the longer one gives way first.
pub(super) fn shorten_two(first: &str, second: &str, width: usize) -> (String, String) {
    if columns(first) + columns(second) <= width {
        return (first.to_owned(), second.to_owned());
    }
    let half = width / 2;
    let first_room = width - columns(second).min(half);
    let second_room = width - columns(first).min(width - half);
    (shorten(first, first_room), shorten(second, second_room))
}

fn take_columns(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|&character| {
            used += column_count(character);
            used <= room
        })
        .collect()
}

/// A sentence of any origin as lines of at most `width` columns. A word longer than a line is broken, not shortened:
/// it may be a statement to be copied.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in with_units_tied(text).split_ascii_whitespace().map(visible) {
        let needed = columns(&word);
        if used > 0 && used + 1 + needed > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for character in word.chars() {
            let taken = column_count(character);
            if used + taken > width && used > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(character);
            used += taken;
        }
    }
    if used > 0 {
        lines.push(line);
    }
    lines.into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// A unit never starts a line.
fn with_units_tied(text: &str) -> String {
    UNITS.iter().fold(text.to_owned(), |text, unit| text.replace(&format!(" {unit}"), &format!("{NO_BREAK}{unit}")))
}

#[cfg(test)]
mod tests {
    use super::{columns, shorten, shorten_two, visible, wrap};

    #[test]
    fn characters_that_steer_a_terminal_are_shown() {
        assert_eq!(visible("a\x1b[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\\n\\tc");
        assert_eq!(visible("x\u{202e}y\u{200b}z\u{ad}\u{2028}\u{9b}"), "x\\u{202e}y\\u{200b}z\\u{ad}\\u{2028}\\u{9b}");
        assert_eq!(visible("Größe 数据 CORP\\SQL"), "Größe 数据 CORP\\SQL");
    }

    #[test]
    fn names_are_shortened_in_the_middle() {
        assert_eq!(shorten("LOCK_HASH", 9), "LOCK_HASH");
        assert_eq!(shorten("SOS_WAITABLE_ADDRESS_HASHBUCKET", 16), "SOS_WAI...BUCKET");
        assert_eq!(shorten("数据数据数据", 8), "数...据");
        for width in 0..5 {
            assert!(columns(&shorten("SOS_WAITABLE", width)) <= width);
        }
    }

    #[test]
    fn of_two_names_the_longer_one_gives_way() {
        let shortened = |first, second, width| {
            let (first, second) = shorten_two(first, second, width);
            format!("{first} {second}")
        };
        assert_eq!(shortened("Sales", "Sales_log", 14), "Sales Sales_log");
        assert_eq!(shortened("Sales", "SalesArchive2019_log", 17), "Sales Sales..._log");
        assert_eq!(shortened("SalesArchive2019", "log", 13), "Sale...019 log");
        assert_eq!(shortened("SalesArchive2019", "SalesArchive2019_log", 21), "Sale...2019 Sale...log");
    }

    #[test]
    fn sentences_are_wrapped_and_long_words_broken() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrap(" \n\t ", 4), Vec::<String>::new());
        assert_eq!(wrap("two\nlines", 20), ["two lines"]);
        assert_eq!(wrap("about 75 % of", 9), ["about", "75 % of"]);
    }
}
