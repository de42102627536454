-- Vectors of what nodes say, by models that turn texts into numbers: made only where a program brings one along, so that
-- recall can go by meaning too. Derived: a rebuild empties the table, and what is missing is made when it is wanted.
-- Cost: nothing until then; then four bytes a number, 1.5 to 12 KB a node.
CREATE TABLE vectors (
    model  TEXT NOT NULL,
    node   INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, node)
) STRICT, WITHOUT ROWID;
