//! Access tokens: 32 random bytes, shown once, stored as hashes in a file next to the database.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use rand::{TryRng as _, rngs::SysRng};
use serde::{Deserialize, Serialize};

use crate::{store::sidecar_path, types::Timestamp};

/// Rights of a token. Each scope includes the scopes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Read trees, documents and events.
    Read,
    /// Change them, and generate.
    Write,
    /// Change agents, approve requests, purge.
    Admin,
}

impl std::str::FromStr for TokenScope {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "admin" => Ok(Self::Admin),
            _ => Err(format!("{word:?} is none of: read, write, admin")),
        }
    }
}

/// A token as stored. It does not contain the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Name, unique in the file.
    pub name: String,
    /// BLAKE3 hash of the token, in hexadecimal.
    pub hash: String,
    /// Rights of the token.
    pub scope: TokenScope,
    /// Project that the token is limited to; `None`: all trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Agent that acts for the token's requests; `None`: the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// The file of tokens. A change of the file takes effect within a second.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    cache: Mutex<TokenCache>,
}

#[derive(Debug, Default)]
struct TokenCache {
    checked: Option<Instant>,
    modified: Option<SystemTime>,
    tokens: Vec<TokenRecord>,
    /// True if the file is there, with tokens or without, or was there. Revoking the last token opens nothing.
    is_required: bool,
}

/// Start of every token.
pub(super) const TOKEN_PREFIX: &str = "loom_";

/// Interval between checks of the file's modification time.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl TokenFile {
    /// Names the token file of a database. The file need not exist.
    #[must_use]
    pub fn of(db: &Path) -> Self {
        Self { path: sidecar_path(db, ".tokens"), cache: Mutex::default() }
    }

    /// Reads all tokens, the oldest first.
    ///
    /// # Errors
    /// If the file exists and cannot be read or decoded.
    pub fn list(&self) -> io::Result<Vec<TokenRecord>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
    }

    /// Creates a token and returns it. It cannot be read again.
    ///
    /// # Errors
    /// If the name is empty or taken, or the file cannot be written.
    pub fn create(
        &self,
        name: &str,
        scope: TokenScope,
        project: Option<String>,
        agent: Option<String>,
        now: Timestamp,
    ) -> io::Result<String> {
        let _lock = self.lock()?;
        let mut tokens = self.list()?;
        if name.trim().is_empty() || tokens.iter().any(|token| token.name == name) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("the name {name:?} is empty or taken")));
        }
        let mut bytes = [0; 32];
        SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        let token = format!("{TOKEN_PREFIX}{}", blake3::Hash::from(bytes).to_hex());
        let hash = hash(&token).to_hex().to_string();
        tokens.push(TokenRecord { name: name.to_owned(), hash, scope, project, agent, created_at: now });
        self.write(&tokens)?;
        Ok(token)
    }

    /// Removes a token. Returns whether it existed.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn revoke(&self, name: &str) -> io::Result<bool> {
        let _lock = self.lock()?;
        let mut tokens = self.list()?;
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before {
            return Ok(false);
        }
        self.write(&tokens)?;
        Ok(true)
    }

    /// Keeps other processes from changing the file until the lock is dropped.
    fn lock(&self) -> io::Result<fs::File> {
        let file =
            fs::OpenOptions::new().write(true).create(true).truncate(false).open(sidecar_path(&self.path, ".lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Replaces the file, readable by its owner only.
    fn write(&self, tokens: &[TokenRecord]) -> io::Result<()> {
        let mut text = String::new();
        for token in tokens {
            text.push_str(&serde_json::to_string(token).map_err(io::Error::other)?);
            text.push('\n');
        }
        let part = sidecar_path(&self.path, ".part");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&part)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &self.path)
    }

    /// Returns the record of a token; `None` if it is unknown. Compares hashes in constant time.
    pub(super) fn find(&self, token: &str) -> Option<TokenRecord> {
        let given = hash(token);
        let is_given = |record: &&TokenRecord| blake3::Hash::from_hex(&record.hash).is_ok_and(|stored| stored == given);
        self.current().tokens.iter().find(is_given).cloned()
    }

    /// Returns the record of the token with this hash. A name can be given again.
    pub(super) fn of_hash(&self, hash: &str) -> Option<TokenRecord> {
        self.current().tokens.iter().find(|record| record.hash == hash).cloned()
    }

    /// True if the file is there, also as a link to no file.
    fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// True if a request needs a token: the file is there, or was there since the first request.
    pub(super) fn is_required(&self) -> bool {
        self.current().is_required
    }

    /// True if there is no token.
    pub(super) fn is_empty(&self) -> bool {
        self.current().tokens.is_empty()
    }

    fn current(&self) -> MutexGuard<'_, TokenCache> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.checked.is_none_or(|checked| checked.elapsed() > CHECK_INTERVAL) {
            let modified = fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
            if modified != cache.modified || cache.checked.is_none() {
                match self.list() {
                    Ok(tokens) => {
                        cache.tokens = tokens;
                        cache.modified = modified;
                    }
                    Err(error) => {
                        tracing::error!(%error, "the token file cannot be read");
                        cache.is_required = true;
                    }
                }
            }
            cache.is_required |= self.exists();
            cache.checked = Some(Instant::now());
        }
        cache
    }
}

fn hash(token: &str) -> blake3::Hash {
    blake3::hash(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_text_only_and_the_file_does_not_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::of(&folder.path().join("trees.db"));
        assert!(file.list().unwrap().is_empty());
        let token = file.create("ci", TokenScope::Read, None, None, Timestamp::from_millis(1)).unwrap();
        assert!(file.create("ci", TokenScope::Read, None, None, Timestamp::from_millis(1)).is_err());
        assert_eq!(file.find(&token).unwrap().name, "ci");
        assert!(file.find("loom_0").is_none());
        let path = folder.path().join("trees.db.tokens");
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&token["loom_".len()..]));
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
        assert!(file.revoke("ci").unwrap());
        assert!(!file.revoke("ci").unwrap());
        let again = TokenFile::of(&folder.path().join("trees.db"));
        assert!(again.find(&token).is_none());
    }
}
