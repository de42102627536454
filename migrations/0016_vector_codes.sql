-- Sign bits of embeddings, 1,024 nodes a row, so that the nearest nodes of a million are found without reading every vector.
-- `embedded_ranges` says which nodes a model has seen: all from `first` to `last`, also those without text.
-- Vectors change their format (bytes with a scale instead of floats), so older ones are dropped; they are made again when
-- they are wanted. Cost: nothing where no model of embeddings was used.
DELETE FROM vectors;

CREATE TABLE vector_codes (
    model TEXT NOT NULL,
    block INTEGER NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (model, block)
) STRICT;

CREATE TABLE embedded_ranges (
    model TEXT NOT NULL PRIMARY KEY,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
