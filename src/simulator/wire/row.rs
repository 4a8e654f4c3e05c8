//! Owns rows: ROW and NBCROW, and the long values that leave in chunks ([MS-TDS] 2.2.7.19, 2.2.7.13, 2.2.5.2.3).

use crate::simulator::output::Message;
use crate::simulator::value::{Column, Datum, SqlType};
use crate::simulator::wire::packet::ResponseWriter;
use crate::simulator::wire::scalar::{mismatch, put_scalar};
use crate::simulator::wire::text::to_code_page;
use crate::simulator::wire::token::{ROW, ROW_WITH_NULL_BITMAP};
use crate::simulator::wire::type_info::{Framing, framing, put_null};
use std::io;
use tokio::io::AsyncWrite;

/// A value too long to be copied before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LongValue<'a> {
    /// nvarchar(max), xml.
    Utf16(&'a str),
    /// varchar(max).
    CodePage(&'a str),
    /// varbinary(max).
    Binary(&'a [u8]),
}

/// A row ready to be sent: its short values encoded, its long ones borrowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedRow<'a> {
    bytes: Vec<u8>,
    /// Long values, each with the number of `bytes` before it.
    long_values: Vec<(usize, LongValue<'a>)>,
}

/// Encodes a row. `null_bitmap`: the client knows NBCROW, which is used where it is shorter.
pub(crate) fn encode_row<'a>(
    columns: &[Column],
    row: &'a [Datum],
    null_bitmap: bool,
) -> Result<EncodedRow<'a>, Message> {
    if columns.len() != row.len() {
        let text = format!("A row of {} values stands in a result set of {} columns.", row.len(), columns.len());
        return Err(Message::new(8114, 16, text));
    }
    let nulls = row.iter().filter(|datum| **datum == Datum::Null).count();
    let bitmap_bytes = columns.len().div_ceil(8);
    let skip_nulls = null_bitmap && nulls > bitmap_bytes;

    let mut encoded = EncodedRow { bytes: Vec::new(), long_values: Vec::new() };
    if skip_nulls {
        encoded.bytes.push(ROW_WITH_NULL_BITMAP);
        let bit = |(index, datum): (usize, &Datum)| u8::from(*datum == Datum::Null) << index;
        encoded.bytes.extend(row.chunks(8).map(|eight| eight.iter().enumerate().map(bit).sum::<u8>()));
    } else {
        encoded.bytes.push(ROW);
    }
    for (column, datum) in columns.iter().zip(row) {
        if *datum != Datum::Null {
            encoded.put(column.sql_type, datum)?;
        } else if !skip_nulls {
            put_null(&mut encoded.bytes, framing(column.sql_type));
        }
    }
    Ok(encoded)
}

impl<'a> EncodedRow<'a> {
    fn put(&mut self, sql_type: SqlType, datum: &'a Datum) -> Result<(), Message> {
        let start = self.bytes.len();
        match framing(sql_type) {
            Framing::Chunks => {
                let value = match (sql_type, datum) {
                    (SqlType::NVarChar(None) | SqlType::Xml, Datum::Text(text)) => LongValue::Utf16(text),
                    (SqlType::VarChar(None), Datum::Text(text)) => LongValue::CodePage(text),
                    (SqlType::VarBinary(None), Datum::Binary(bytes)) => LongValue::Binary(bytes),
                    _ => return Err(mismatch(sql_type, datum)),
                };
                self.long_values.push((start, value));
            }
            Framing::ByteLength => {
                self.bytes.push(0);
                put_scalar(&mut self.bytes, sql_type, datum)?;
                let length = self.bytes.len() - start - 1;
                self.overwrite(start, &[length as u8]);
            }
            Framing::ShortLength => {
                self.bytes.extend_from_slice(&[0; 2]);
                put_scalar(&mut self.bytes, sql_type, datum)?;
                let length = self.bytes.len() - start - 2;
                self.overwrite(start, &(length as u16).to_le_bytes());
            }
            Framing::VariantLength => {
                self.bytes.extend_from_slice(&[0; 4]);
                put_scalar(&mut self.bytes, sql_type, datum)?;
                let length = self.bytes.len() - start - 4;
                self.overwrite(start, &(length as u32).to_le_bytes());
            }
        }
        Ok(())
    }

    fn overwrite(&mut self, start: usize, length: &[u8]) {
        overwrite(&mut self.bytes, start, length);
    }

    /// Sends the row; full packets leave as they fill.
    pub(crate) async fn write<S: AsyncWrite + Unpin>(&self, writer: &mut ResponseWriter<S>) -> io::Result<()> {
        let mut sent = 0;
        for (before, value) in &self.long_values {
            writer.body().extend_from_slice(self.bytes.get(sent..*before).unwrap_or_default());
            sent = *before;
            value.write(writer).await?;
        }
        writer.body().extend_from_slice(self.bytes.get(sent..).unwrap_or_default());
        writer.write_full_packets().await
    }

    /// The first half of its bytes.
    pub(crate) async fn first_half(&self) -> io::Result<Vec<u8>> {
        // No packet of this size is ever full, so the whole row stays in the body.
        let mut whole = ResponseWriter::new(tokio::io::sink(), 0, usize::MAX);
        self.write(&mut whole).await?;
        let mut bytes = std::mem::take(whole.body());
        bytes.truncate(bytes.len() / 2);
        Ok(bytes)
    }
}

/// Puts a length where room was left for it.
fn overwrite(bytes: &mut [u8], start: usize, length: &[u8]) {
    if let Some(room) = bytes.get_mut(start..start + length.len()) {
        room.copy_from_slice(length);
    }
}

impl LongValue<'_> {
    /// Characters or bytes in one chunk.
    const CHUNK: usize = 16 * 1024;

    async fn write<S: AsyncWrite + Unpin>(self, writer: &mut ResponseWriter<S>) -> io::Result<()> {
        writer.body().extend_from_slice(&self.total_bytes().to_le_bytes());
        match self {
            Self::Utf16(text) => {
                for chunk in text_chunks(text) {
                    let body = writer.body();
                    let start = body.len();
                    body.extend_from_slice(&[0; 4]);
                    crate::simulator::wire::encode::put_utf16(body, chunk);
                    let length = body.len() - start - 4;
                    overwrite(body, start, &(length as u32).to_le_bytes());
                    writer.write_full_packets().await?;
                }
            }
            Self::CodePage(text) => {
                for chunk in text_chunks(text) {
                    write_chunk(writer, &to_code_page(chunk)).await?;
                }
            }
            Self::Binary(bytes) => {
                for chunk in bytes.chunks(Self::CHUNK) {
                    write_chunk(writer, chunk).await?;
                }
            }
        }
        writer.body().extend_from_slice(&0_u32.to_le_bytes());
        writer.write_full_packets().await
    }

    fn total_bytes(self) -> u64 {
        let bytes = match self {
            Self::Utf16(text) => text.encode_utf16().count() * 2,
            Self::CodePage(text) => text.chars().count(),
            Self::Binary(bytes) => bytes.len(),
        };
        bytes as u64
    }
}

async fn write_chunk<S: AsyncWrite + Unpin>(writer: &mut ResponseWriter<S>, chunk: &[u8]) -> io::Result<()> {
    let body = writer.body();
    body.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
    body.extend_from_slice(chunk);
    writer.write_full_packets().await
}

/// `text` in pieces of about [`LongValue::CHUNK`] bytes of UTF-8, cut between characters.
fn text_chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at_checked(rest.ceil_char_boundary(LongValue::CHUNK)).unwrap_or((rest, ""));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn row_bytes(columns: &[Column], row: &[Datum], null_bitmap: bool) -> Vec<u8> {
        let mut writer = ResponseWriter::new(Vec::new(), 0, 4096);
        encode_row(columns, row, null_bitmap).unwrap().write(&mut writer).await.unwrap();
        std::mem::take(writer.body())
    }

    #[tokio::test]
    async fn nulls_have_the_form_of_their_type() {
        let types =
            [SqlType::Int, SqlType::NVarChar(Some(5)), SqlType::Xml, SqlType::SqlVariant, SqlType::VarBinary(None)];
        let columns = types.map(|sql_type| Column::new("c", sql_type));
        let nulls = vec![Datum::Null; columns.len()];
        let mut expected = vec![ROW, 0, 0xFF, 0xFF];
        expected.extend([0xFF; 8]);
        expected.extend([0; 4]);
        expected.extend([0xFF; 8]);
        assert_eq!(row_bytes(&columns, &nulls, false).await, expected);
        assert_eq!(row_bytes(&columns, &nulls, true).await, [ROW_WITH_NULL_BITMAP, 0b1_1111]);
    }

    #[tokio::test]
    async fn the_null_bitmap_counts_columns_from_its_lowest_bit() {
        let columns = vec![Column::new("c", SqlType::TinyInt); 10];
        let mut row = vec![Datum::Null; 10];
        row[1] = Datum::Int(7);
        row[9] = Datum::Int(9);
        let expected = [ROW_WITH_NULL_BITMAP, 0b1111_1101, 0b01, 1, 7, 1, 9];
        assert_eq!(row_bytes(&columns, &row, true).await, expected);
    }

    #[tokio::test]
    async fn a_long_value_is_total_chunks_and_an_empty_chunk() {
        let columns = [Column::new("c", SqlType::NVarChar(None)), Column::new("d", SqlType::TinyInt)];
        let bytes = row_bytes(&columns, &[Datum::Text("ž".into()), Datum::Int(3)], true).await;
        assert_eq!(bytes, [ROW, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x7E, 0x01, 0, 0, 0, 0, 1, 3]);
        let empty = row_bytes(&columns[..1], &[Datum::Text(String::new())], true).await;
        assert_eq!(empty, [ROW, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn text_is_cut_between_characters() {
        let text = "až😀".repeat(20_000);
        let chunks: Vec<&str> = text_chunks(&text).collect();
        assert!(chunks.len() > 1);
        assert_eq!(chunks.concat(), text);
    }

    #[test]
    fn a_value_that_does_not_fit_its_column_is_an_error() {
        let columns = [Column::new("c", SqlType::NVarChar(None))];
        assert_eq!(encode_row(&columns, &[Datum::Int(1)], true).unwrap_err().number, 8114);
        assert_eq!(encode_row(&columns, &[], true).unwrap_err().number, 8114);
    }
}
