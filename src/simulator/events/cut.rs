//! Owns where a target document ends early.

/// Where a target document ends although more belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetCut {
    /// After so many characters.
    After(usize),
    /// In the middle of the tag that is the middle one of all start tags.
    InElement,
    /// In the middle of the middle entity; a document without one stays whole.
    InEntity,
    /// In the middle of the middle CDATA section; a document without one stays whole.
    InCharacterData,
}

/// What a cut can be in the middle of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Tag,
    Entity,
    CharacterData,
}

impl TargetCut {
    /// Cuts a document.
    pub fn apply(self, document: &mut String) {
        let at = match self {
            Self::After(characters) => document.char_indices().nth(characters).map(|(at, _)| at),
            Self::InElement => middle(document, Piece::Tag),
            Self::InEntity => middle(document, Piece::Entity),
            Self::InCharacterData => middle(document, Piece::CharacterData),
        };
        if let Some(at) = at {
            document.truncate(at);
        }
    }
}

/// The middle of the middle piece of this kind.
fn middle(document: &str, wanted: Piece) -> Option<usize> {
    let of_kind: Vec<(usize, usize)> =
        pieces(document).filter(|(piece, ..)| *piece == wanted).map(|(_, start, end)| (start, end)).collect();
    let (start, end) = *of_kind.get(of_kind.len() / 2)?;
    (start + 1..=usize::midpoint(start, end)).rev().find(|at| document.is_char_boundary(*at))
}

/// The pieces of a document, each with where it begins and ends. End tags are none.
fn pieces(document: &str) -> impl Iterator<Item = (Piece, usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + document.get(from..)?.find(['<', '&'])?;
            let rest = document.get(start..)?;
            let (piece, end) = if rest.starts_with("<![CDATA[") {
                (Some(Piece::CharacterData), "]]>")
            } else if rest.starts_with('&') {
                (Some(Piece::Entity), ";")
            } else {
                (Some(Piece::Tag).filter(|_| !rest.starts_with("</")), ">")
            };
            from = start + rest.find(end)? + end.len();
            if let Some(piece) = piece {
                return Some((piece, start, from));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::TargetCut;

    #[test]
    fn a_document_ends_in_the_middle_of_what_is_asked_for() {
        let cut = |how: TargetCut, text: &str| {
            let mut document = text.to_owned();
            how.apply(&mut document);
            document
        };
        let document = "<T><S n=\"1\">a&lt;&amp;b</S><S><![CDATA[<x&y;ž>]]></S></T>";
        assert_eq!(cut(TargetCut::InElement, document), "<T><S n");
        assert_eq!(cut(TargetCut::InEntity, document), "<T><S n=\"1\">a&lt;&a");
        assert_eq!(cut(TargetCut::InCharacterData, document), "<T><S n=\"1\">a&lt;&amp;b</S><S><![CDATA[<");
        assert_eq!(cut(TargetCut::After(3), document), "<T>");
        for how in [TargetCut::InEntity, TargetCut::InCharacterData, TargetCut::After(99)] {
            assert_eq!(cut(how, "<T>ž</T>"), "<T>ž</T>");
        }
        assert_eq!(cut(TargetCut::InElement, "ž<é>"), "ž<");
        assert_eq!(cut(TargetCut::InElement, ""), "");
    }
}
