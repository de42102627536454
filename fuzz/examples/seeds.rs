//! Writes the seeds of each target to `seeds/TARGET`, and its words to `seeds/TARGET.dict`, for libFuzzer.

use std::{fs, io, path::Path};

use loomtree::fuzz::FUZZ_TARGETS;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for target in FUZZ_TARGETS {
        let folder = root.join(target.name);
        fs::create_dir_all(&folder)?;
        for (index, seed) in target.seeds().iter().enumerate() {
            fs::write(folder.join(index.to_string()), seed)?;
        }
        let quoted = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        let lines: Vec<String> = target.words.iter().map(|word| format!("\"{}\"\n", quoted(word))).collect();
        fs::write(root.join(format!("{}.dict", target.name)), lines.concat())?;
    }
    Ok(())
}
