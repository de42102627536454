//! Tables as comma-separated values (RFC 4180), safe for spreadsheets.
//!
//! A spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@` as a formula. Text of a model must not become one,
//! so such a text gets an apostrophe in front. JSON Lines and Parquet hold texts unchanged.

use std::io::{self, Write};

use super::table::{Cell, Column, TableWriter};

/// First characters of a text that a spreadsheet may evaluate; the last four are full-width forms.
const FORMULA_STARTS: &[char] = &['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

pub(super) struct CsvWriter<'w> {
    out: &'w mut dyn Write,
}

impl<'w> CsvWriter<'w> {
    /// Writes the head of a table.
    pub(super) fn begin(out: &'w mut dyn Write, columns: &[Column]) -> io::Result<Self> {
        let mut writer = Self { out };
        let names = columns.iter().map(|column| Cell::Text(column.name.clone())).collect();
        writer.row(names)?;
        Ok(writer)
    }
}

impl TableWriter for CsvWriter<'_> {
    fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.out.write_all(b",")?;
            }
            match cell {
                Cell::Text(text) => self.out.write_all(quote(text).as_bytes())?,
                Cell::Integer(number) => write!(self.out, "{number}")?,
                Cell::Number(number) => write!(self.out, "{number}")?,
                Cell::Flag(flag) => write!(self.out, "{flag}")?,
                Cell::Null => {}
            }
        }
        self.out.write_all(b"\r\n")
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Quotes a text. Every text is quoted, so none can end its cell.
fn quote(text: &str) -> String {
    let guard = if text.starts_with(FORMULA_STARTS) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\"").replace('\0', "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::{super::table::ColumnType, *};

    #[test]
    fn no_text_becomes_a_formula_or_leaves_its_cell() {
        assert_eq!(quote("plain, with \"quotes\"\nand lines"), "\"plain, with \"\"quotes\"\"\nand lines\"");
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"] {
            assert_eq!(quote(text), format!("\"'{text}\""));
        }
        assert_eq!(quote("a\",=cmd|' /C calc'!A0"), "\"a\"\",=cmd|' /C calc'!A0\"");
        let mut out = Vec::new();
        let columns = [Column::new("=name", ColumnType::Text), Column::new("score", ColumnType::Number)];
        let mut writer = CsvWriter::begin(&mut out, &columns).unwrap();
        writer.row(vec![Cell::Null, Cell::Number(-1.5)]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\"'=name\",\"score\"\r\n,-1.5\r\n");
    }
}
