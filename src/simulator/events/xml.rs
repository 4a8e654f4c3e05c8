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
            _ if is_storable(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

/// How text stands in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// With entities.
    Escaped,
    /// In CDATA sections.
    CharacterData,
}

impl TextForm {
    /// Text in this form.
    pub fn write(self, text: &str) -> String {
        match self {
            Self::Escaped => escape(text),
            Self::CharacterData => format!("<![CDATA[{}]]>", storable(text).replace("]]>", "]]]]><![CDATA[>")),
        }
    }
}

/// What XML 1.0 cannot hold becomes the replacement character.
fn storable(text: &str) -> String {
    text.chars().map(|c| if is_storable(c) { c } else { '\u{fffd}' }).collect()
}

fn is_storable(c: char) -> bool {
    !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Appends formatted text.
pub fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.push_str(&part.to_string());
}

#[cfg(test)]
mod tests {
    use super::{TextForm, escape};

    #[test]
    fn markup_and_what_xml_cannot_hold_are_replaced() {
        assert_eq!(
            escape("Spinlock<1,7,1>::\"a\" & b\n\u{1}"),
            "Spinlock&lt;1,7,1&gt;::&quot;a&quot; &amp; b\n\u{fffd}"
        );
        assert_eq!(TextForm::CharacterData.write("a<b]]>c\u{1}"), "<![CDATA[a<b]]]]><![CDATA[>c\u{fffd}]]>");
    }
}
