//! Owns writing XML: the one place where the simulated server escapes text.

/// Text for content and attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Appends formatted text.
pub fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.push_str(&part.to_string());
}
