//! API keys that cannot be printed.
//!
//! A key comes from the environment or from a file that only its owner can access. It has no `Display` and no
//! serialization, and its `Debug` prints three stars. Text that may contain it passes through [`Secret::redact`].
//!
//! Left out: protection from swap and core dumps, and keychains.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::ProviderError;
use super::model_ref::Env;

/// Size limit of a key file; no provider's key is as long.
const MAX_KEY_FILE_BYTES: u64 = 16 * 1024;

/// An API key that is not printable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a key from trimmed text; `None` if it is blank.
    #[must_use]
    pub fn new(key: &str) -> Option<Secret> {
        let key = key.trim();
        (!key.is_empty()).then(|| Secret(key.to_owned()))
    }

    /// Reads the key from the variable `name`; `None` if it is unset or blank.
    #[must_use]
    pub fn from_env(name: &str, env: &Env<'_>) -> Option<Secret> {
        env(name).and_then(|key| Secret::new(&key))
    }

    /// Reads a key file, which contains the key only.
    ///
    /// # Errors
    /// Returns a configuration error if the file cannot be read, is empty or too long. On Unix, also if the group or others
    /// have any permission on it.
    pub fn from_file(path: &Path) -> Result<Secret, ProviderError> {
        let fail = |why: String| ProviderError::configuration(format!("key file {}: {why}", path.display()));
        let file = std::fs::File::open(path).map_err(|error| fail(error.to_string()))?;
        // Permissions of the open file, so that it cannot be replaced between check and read.
        let metadata = file.metadata().map_err(|error| fail(error.to_string()))?;
        if !metadata.is_file() {
            return Err(fail("is not a file".to_owned()));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if metadata.permissions().mode() & 0o077 != 0 {
                return Err(fail(format!("other users have access; run: chmod 600 {}", path.display())));
            }
        }
        let mut key = String::new();
        file.take(MAX_KEY_FILE_BYTES + 1).read_to_string(&mut key).map_err(|error| fail(error.to_string()))?;
        if key.len() as u64 > MAX_KEY_FILE_BYTES {
            return Err(fail("is too long for a key".to_owned()));
        }
        Secret::new(&key).ok_or_else(|| fail("is empty".to_owned()))
    }

    /// Returns the key itself, for the authorization header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key in `text` by three stars.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_stars_only() {
        assert_eq!(format!("{:?}", Secret::new(" sk-1\n")), "Some(***)");
        assert_eq!(Secret::new(" \n"), None);
        assert_eq!(Secret::new("k").unwrap().redact("kak"), "***a***");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_with_permissions_for_others_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-file\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Secret::from_file(&path).unwrap_err();
            assert!(error.to_string().contains("chmod 600"), "{mode:o}: {error}");
            assert!(!format!("{error:?}").contains("sk-file"));
        }
        for mode in [0o600, 0o400] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Secret::from_file(&path).unwrap().expose(), "sk-file");
        }
        std::fs::write(folder.path().join("none"), "").unwrap();
        assert!(Secret::from_file(&folder.path().join("absent")).is_err());
        assert!(Secret::from_file(folder.path()).is_err());
    }
}
