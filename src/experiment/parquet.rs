//! Tables as Apache Parquet: one flat schema of optional columns, plain encoding, pages compressed by gzip.
//!
//! The format of such a file is a small part of Parquet: columns of a row group one after the other, each in one page, and
//! a footer in Thrift's compact protocol. The crate `parquet` would more than double the crates of the library. A test
//! reads the file by Apache Arrow.

use std::io::{self, Write};

use flate2::{Compression, write::GzEncoder};

use super::table::{Cell, Column, ColumnType, TableWriter};

const MAGIC: &[u8] = b"PAR1";
/// Bytes of texts and number of rows after which a row group is written.
const GROUP_BYTES: usize = 16 << 20;
const GROUP_ROWS: usize = 50_000;

/// Thrift's numbers of field types in the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Parquet's numbers.
const OPTIONAL: i64 = 1;
const UTF8: i64 = 0;
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const GZIP: i64 = 2;
const DATA_PAGE: i64 = 0;

impl ColumnType {
    const fn parquet(self) -> i64 {
        match self {
            Self::Flag => 0,
            Self::Integer => 2,
            Self::Number => 5,
            Self::Text => 6,
        }
    }
}

/// Writes rows in groups; the footer comes at the end.
pub(super) struct ParquetWriter<'w> {
    out: &'w mut dyn Write,
    columns: Vec<Column>,
    /// Cells of the current row group, by column.
    group: Vec<Vec<Cell>>,
    group_bytes: usize,
    groups: Vec<RowGroup>,
    position: u64,
}

/// A written row group.
struct RowGroup {
    rows: usize,
    chunks: Vec<ColumnChunk>,
}

/// A written column of a row group.
struct ColumnChunk {
    offset: u64,
    /// Sizes with the page header.
    compressed: usize,
    uncompressed: usize,
}

impl<'w> ParquetWriter<'w> {
    /// Writes the beginning of a file.
    pub(super) fn begin(out: &'w mut dyn Write, columns: &[Column]) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            columns: columns.to_vec(),
            group: vec![Vec::new(); columns.len()],
            group_bytes: 0,
            groups: Vec::new(),
            position: MAGIC.len() as u64,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn write_group(&mut self) -> io::Result<()> {
        let rows = self.group.first().map_or(0, Vec::len);
        if rows == 0 {
            return Ok(());
        }
        let mut chunks = Vec::with_capacity(self.columns.len());
        for at in 0..self.columns.len() {
            let cells = std::mem::take(&mut self.group[at]);
            let page = page(&cells, self.columns[at].kind)?;
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(&page)?;
            let compressed = gzip.finish()?;
            let header = page_header(rows, page.len(), compressed.len());
            chunks.push(ColumnChunk {
                offset: self.position,
                compressed: header.len() + compressed.len(),
                uncompressed: header.len() + page.len(),
            });
            self.write(&header)?;
            self.write(&compressed)?;
        }
        self.groups.push(RowGroup { rows, chunks });
        self.group_bytes = 0;
        Ok(())
    }

    fn footer(&self) -> Vec<u8> {
        let mut thrift = Thrift::default();
        let mut last = 0;
        thrift.int(&mut last, 1, I32, 1);
        thrift.list(&mut last, 2, STRUCT, self.columns.len() + 1);
        let mut root = 0;
        thrift.binary(&mut root, 4, b"schema");
        thrift.int(&mut root, 5, I32, as_i64(self.columns.len()));
        thrift.stop();
        for column in &self.columns {
            let mut element = 0;
            thrift.int(&mut element, 1, I32, column.kind.parquet());
            thrift.int(&mut element, 3, I32, OPTIONAL);
            thrift.binary(&mut element, 4, column.name.as_bytes());
            if column.kind == ColumnType::Text {
                thrift.int(&mut element, 6, I32, UTF8);
            }
            thrift.stop();
        }
        thrift.int(&mut last, 3, I64, as_i64(self.groups.iter().map(|group| group.rows).sum()));
        thrift.list(&mut last, 4, STRUCT, self.groups.len());
        for group in &self.groups {
            self.row_group(&mut thrift, group);
        }
        thrift.binary(&mut last, 6, concat!("loomtree version ", env!("CARGO_PKG_VERSION")).as_bytes());
        thrift.stop();
        thrift.bytes
    }

    fn row_group(&self, thrift: &mut Thrift, group: &RowGroup) {
        let mut last = 0;
        thrift.list(&mut last, 1, STRUCT, group.chunks.len());
        for (chunk, column) in group.chunks.iter().zip(&self.columns) {
            let mut field = 0;
            let offset = i64::try_from(chunk.offset).unwrap_or(i64::MAX);
            thrift.int(&mut field, 2, I64, offset);
            thrift.field(&mut field, 3, STRUCT);
            let mut metadata = 0;
            thrift.int(&mut metadata, 1, I32, column.kind.parquet());
            thrift.list(&mut metadata, 2, I32, 2);
            thrift.zigzag(PLAIN);
            thrift.zigzag(RLE);
            thrift.list(&mut metadata, 3, BINARY, 1);
            thrift.text(column.name.as_bytes());
            thrift.int(&mut metadata, 4, I32, GZIP);
            thrift.int(&mut metadata, 5, I64, as_i64(group.rows));
            thrift.int(&mut metadata, 6, I64, as_i64(chunk.uncompressed));
            thrift.int(&mut metadata, 7, I64, as_i64(chunk.compressed));
            thrift.int(&mut metadata, 9, I64, offset);
            thrift.stop();
            thrift.stop();
        }
        thrift.int(&mut last, 2, I64, as_i64(group.chunks.iter().map(|chunk| chunk.uncompressed).sum()));
        thrift.int(&mut last, 3, I64, as_i64(group.rows));
        thrift.stop();
    }
}

impl TableWriter for ParquetWriter<'_> {
    fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        for (column, cell) in self.group.iter_mut().zip(cells) {
            self.group_bytes += if let Cell::Text(text) = &cell { text.len() } else { 0 };
            column.push(cell);
        }
        let rows = self.group.first().map_or(0, Vec::len);
        if rows >= GROUP_ROWS || self.group_bytes >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.write_group()?;
        let footer = self.footer();
        self.write(&footer)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.write(&length.to_le_bytes())?;
        self.write(MAGIC)
    }
}

/// Returns the content of a page: which cells have a value, then the values.
fn page(cells: &[Cell], kind: ColumnType) -> io::Result<Vec<u8>> {
    let levels = levels(cells);
    let mut page = u32::try_from(levels.len()).map_err(io::Error::other)?.to_le_bytes().to_vec();
    page.extend(levels);
    let mut flags = Vec::new();
    for cell in cells {
        match (cell, kind) {
            (Cell::Text(text), ColumnType::Text) => {
                page.extend(u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes());
                page.extend(text.as_bytes());
            }
            (Cell::Integer(number), ColumnType::Integer) => page.extend(number.to_le_bytes()),
            (Cell::Number(number), ColumnType::Number) => page.extend(number.to_le_bytes()),
            (Cell::Flag(flag), ColumnType::Flag) => flags.push(*flag),
            (Cell::Null, _) => {}
            _ => return Err(io::Error::other("a cell has another type than its column")),
        }
    }
    page.extend(flags.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| (byte << 1) | u8::from(*bit))));
    Ok(page)
}

/// Returns the definition levels as runs: 1 for a cell with a value, 0 for one without.
fn levels(cells: &[Cell]) -> Vec<u8> {
    let mut runs: Vec<(u64, bool)> = Vec::new();
    for cell in cells {
        let is_present = !matches!(cell, Cell::Null);
        match runs.last_mut() {
            Some((length, present)) if *present == is_present => *length += 1,
            _ => runs.push((1, is_present)),
        }
    }
    let mut bytes = Vec::new();
    for (length, is_present) in runs {
        varint(&mut bytes, length << 1);
        bytes.push(u8::from(is_present));
    }
    bytes
}

fn page_header(rows: usize, uncompressed: usize, compressed: usize) -> Vec<u8> {
    let mut thrift = Thrift::default();
    let mut last = 0;
    thrift.int(&mut last, 1, I32, DATA_PAGE);
    thrift.int(&mut last, 2, I32, as_i64(uncompressed));
    thrift.int(&mut last, 3, I32, as_i64(compressed));
    thrift.field(&mut last, 5, STRUCT);
    let mut data = 0;
    thrift.int(&mut data, 1, I32, as_i64(rows));
    thrift.int(&mut data, 2, I32, PLAIN);
    thrift.int(&mut data, 3, I32, RLE);
    thrift.int(&mut data, 4, I32, RLE);
    thrift.stop();
    thrift.stop();
    thrift.bytes
}

fn as_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

/// Encoder of Thrift's compact protocol. `last` is the id of the previous field of the same struct.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
}

impl Thrift {
    fn field(&mut self, last: &mut u8, id: u8, kind: u8) {
        self.bytes.push(((id - *last) << 4) | kind);
        *last = id;
    }

    fn int(&mut self, last: &mut u8, id: u8, kind: u8, number: i64) {
        self.field(last, id, kind);
        self.zigzag(number);
    }

    fn binary(&mut self, last: &mut u8, id: u8, bytes: &[u8]) {
        self.field(last, id, BINARY);
        self.text(bytes);
    }

    fn list(&mut self, last: &mut u8, id: u8, kind: u8, length: usize) {
        self.field(last, id, LIST);
        match u8::try_from(length) {
            Ok(short @ 0..15) => self.bytes.push((short << 4) | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, length as u64);
            }
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    #[allow(clippy::cast_sign_loss)] // the bits are the encoding
    fn zigzag(&mut self, number: i64) {
        varint(&mut self.bytes, ((number << 1) ^ (number >> 63)) as u64);
    }

    fn stop(&mut self) {
        self.bytes.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_levels_and_values() {
        let flags = [Cell::Flag(true), Cell::Null, Cell::Flag(false), Cell::Flag(true)];
        // Runs: one present, one absent, two present; then the bits 1, 0, 1.
        assert_eq!(page(&flags, ColumnType::Flag).unwrap(), [6, 0, 0, 0, 2, 1, 2, 0, 4, 1, 0b101]);
        let texts = [Cell::Text("ab".into()), Cell::Null];
        assert_eq!(page(&texts, ColumnType::Text).unwrap(), [4, 0, 0, 0, 2, 1, 2, 0, 2, 0, 0, 0, b'a', b'b']);
        assert!(page(&[Cell::Integer(1)], ColumnType::Text).is_err());
    }

    #[test]
    fn a_file_has_its_magic_at_both_ends() {
        let mut out = Vec::new();
        let mut writer =
            ParquetWriter::begin(&mut out, &[Column::new("a", ColumnType::Text), Column::new("b", ColumnType::Number)])
                .unwrap();
        writer.row(vec![Cell::Text("x".into()), Cell::Number(1.5)]).unwrap();
        writer.end().unwrap();
        assert!(out.starts_with(MAGIC) && out.ends_with(MAGIC));
        let length = u32::from_le_bytes(out[out.len() - 8..out.len() - 4].try_into().unwrap());
        assert!((length as usize) < out.len() - 12);
    }
}
