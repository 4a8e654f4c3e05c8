//! Owns writing XML: the one place where the simulated server escapes text.

/// Text for content and attributes. What XML 1.0 cannot hold becomes the replacement character.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Appends formatted text.
pub fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.push_str(&part.to_string());
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_and_what_xml_cannot_hold_are_replaced() {
        assert_eq!(
            escape("Spinlock<1,7,1>::\"a\" & b\n\u{1}"),
            "Spinlock&lt;1,7,1&gt;::&quot;a&quot; &amp; b\n\u{fffd}"
        );
    }
}
