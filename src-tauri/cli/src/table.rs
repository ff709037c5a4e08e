//! Tables without borders. Their cells are escaped, so that the terminal never interprets them.

use comfy_table::presets;

use crate::text::escape;

/// A table whose columns are as wide as their widest cells.
pub(crate) struct Table {
    table: comfy_table::Table,
}

impl Table {
    pub(crate) fn new<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(header);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self { table }
    }

    pub(crate) fn add_row<const COLUMNS: usize>(&mut self, cells: [&str; COLUMNS]) {
        self.table.add_row(cells.map(escape));
    }

    /// Returns the table as lines, or `empty` if it has no rows.
    pub(crate) fn format_or(&self, empty: &str) -> String {
        if self.table.is_empty() {
            empty.to_owned()
        } else {
            self.table.trim_fmt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_empty_table_is_replaced_by_a_text() {
        let mut table = Table::new(["ID", "STATE"]);
        assert_eq!(table.format_or("none"), "none");
        table.add_row(["longer", "idle"]);
        table.add_row(["漢字", ""]);
        table.add_row(["x", "a\nb\u{1b}[31m\u{202e}"]);
        assert_eq!(
            table.format_or(""),
            "ID      STATE\nlonger  idle\n漢字\nx       a\\nb\\u{1b}[31m\\u{202e}"
        );
    }

    #[test]
    fn a_long_cell_is_shown_in_full() {
        let long = "a b".repeat(50_000);
        let mut table = Table::new(["ID", "ARGUMENTS"]);
        table.add_row(["1", &long]);
        let cells: String = table.format_or("").split_whitespace().collect();
        assert!(cells.ends_with(&long.replace(' ', "")));
    }
}
