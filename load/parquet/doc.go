// Package parquet writes the record batches of one home to Parquet files, a
// file per table.
//
// What a file guarantees:
//
//   - Rows stand in the order they were written, in row groups that end with
//     the row that reaches GroupRows or GroupBytes. A group is cut shorter only
//     when the tables of a home together exceed the budget of the Writer.
//   - Pages are zstd level 1, data page version 1, about 1 MiB before compression; a
//     value is never split, so a page holding a larger value is larger.
//   - Times are TIMESTAMP(MICROS, isAdjustedToUTC=false), texts and JSON are
//     plain UTF8, lists have the standard three levels. NULL and the empty text differ.
//   - Texts that are long or never repeat have no dictionary; long ones have no
//     statistics, NULL counts included. A minimum or maximum over maxStat bytes
//     is left out, never cut: no text bloats the footer.
//   - The table's sentence and those of its columns are in the metadata of the
//     file: "gander.table", "comment" and "gander.columns" (a JSON array of
//     name, type and comment), and as field metadata in "ARROW:schema".
//
// home_id is in no file: it is the key of the directory that a file is put in.
//
// # Memory
//
// A Writer holds the rows of unfinished row groups as the Arrow batches they
// came in, and encodes a group column by column, straight to the file. It holds
// at most
//
//   - Options.Budget of data over all tables, and beyond it one batch per table:
//     a batch stays whole until its last row is on disk;
//   - while a group is encoded, about five times its largest page, and the
//     compressed pages of one dictionary column.
//
// A text of 100 MB therefore takes about 0.5 GB while it is written.
// The footer of a file grows by some 3 KB a row group.
package parquet
