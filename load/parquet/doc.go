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
//   - Texts that are long or never repeat have no dictionary, nor has any in a
//     file of less than 1,024 rows and 1 MiB; long ones have no statistics, NULL
//     counts included. A minimum or maximum over maxStat bytes is left out, never
//     cut: no text bloats the footer.
//   - The table's sentence and those of its columns are in the metadata of the
//     file: "gander.table", "comment" and "gander.columns" (a JSON array of
//     name, type and comment), and as field metadata in "ARROW:schema".
//
// home_id is in no file: it is the key of the directory that a file is put in.
//
// # Memory
//
// A Writer encodes and compresses rows as they come, but for the first of each
// file (see above), which wait as the Arrow batches they came in. The pages of
// an unfinished row group stay in memory, since a file holds one column after
// the other. It holds at most
//
//   - the compressed pages of Options.Budget of data over all tables, in
//     buffers that double as they grow;
//   - of each column, up to three pages at work: the one being filled, the last
//     one whole and the last one compressed;
//   - about five times a value that is larger than a page, until its row group
//     ends.
//
// A text of 100 MB therefore takes about 0.5 GB while it is written.
// The footer of a file grows by some 3 KB a row group.
package parquet
