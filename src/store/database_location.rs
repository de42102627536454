//! The location of a database as a user writes it: the path of a file, or the URL of a PostgreSQL database.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The schemes of a URL. Both name the same protocol.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The location of a database. Its text hides the password.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A file of SQLite.
    File(PathBuf),
    /// The URL of a PostgreSQL database, as libpq reads it.
    Postgres(String),
}

impl Location {
    /// Reads a path or a URL. A file whose name begins like a URL is named as `./postgres:…`.
    #[must_use]
    pub fn of(text: &Path) -> Self {
        let has_scheme =
            |text: &str, scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        let url = text.to_str().filter(|text| SCHEMES.iter().any(|scheme| has_scheme(text, scheme)));
        url.map_or_else(|| Self::File(text.to_owned()), |url| Self::Postgres(url.to_owned()))
    }

    /// Returns the path of the file; `None` for a URL.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// Returns the location without its password; `None` if it has none.
    #[must_use]
    pub fn without_password(&self) -> Option<Self> {
        match self {
            Self::File(_) => None,
            Self::Postgres(url) => Some(replace_password(url, None)).filter(|bare| bare != url).map(Self::Postgres),
        }
    }

    /// Returns whether there is something to open: the file exists, or the location is a URL.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }
}

/// Returns the path of a file beside another: its name with this ending appended.
#[must_use]
pub(crate) fn sidecar_path(file: &Path, ending: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&replace_password(url, Some("***"))),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// Replaces the password before the host and in the parameters, or removes it if `shown` is `None`.
fn replace_password(url: &str, shown: Option<&str>) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // A password may contain `@`, `?` and `/` unescaped, before the host and in the parameters.
    let (at, mark) = (rest.rfind('@').unwrap_or(0), rest.find('?').unwrap_or(rest.len()));
    let is_in_parameters = rest[mark..].contains("password=");
    let mark = if mark < at && !is_in_parameters { rest[at..].find('?').map(|mark| at + mark) } else { Some(mark) };
    let (head, parameters) = rest.split_at(mark.unwrap_or(rest.len()));
    let hide = |user: &str| match (user.split_once(':'), shown) {
        (Some((name, _)), Some(shown)) => format!("{name}:{shown}"),
        (Some((name, _)), None) => name.to_owned(),
        (None, _) => user.to_owned(),
    };
    let head = match head.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", hide(user)),
        // What looks like a port may be the beginning of a password.
        None if at > head.len() => hide(head),
        None => head.to_owned(),
    };
    let hide = |parameter: &str| match (parameter.split_once('='), shown) {
        (Some((name @ ("password" | "sslpassword"), _)), Some(shown)) => Some(format!("{name}={shown}")),
        (Some(("password" | "sslpassword", _)), None) => None,
        _ => Some(parameter.to_owned()),
    };
    let parameters: Vec<String> =
        parameters.strip_prefix('?').into_iter().flat_map(|all| all.split('&')).filter_map(hide).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{head}{mark}{}", parameters.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_text_of_a_location() {
        for (url, shown) in [
            ("postgres://ann:se@cret@db/loom", "postgres://ann:***@db/loom"),
            ("POSTGRES://ann:se?cr/et@db/loom?sslmode=require", "POSTGRES://ann:***@db/loom?sslmode=require"),
            (
                "postgresql://ann@db:5433,db2/loom?target_session_attrs=any",
                "postgresql://ann@db:5433,db2/loom?target_session_attrs=any",
            ),
            ("postgres:///loom?host=/run&user=ann&password=cret", "postgres:///loom?host=/run&user=ann&password=***"),
            ("postgres://ann@db/loom?password=se@cret", "postgres://ann@db/loom?password=***"),
            ("postgres://ann:se?password=c@db/loom", "postgres://ann:***?password=***"),
            ("postgres:///loom?host=@run&user=ann", "postgres:///loom?host=@run&user=ann"),
        ] {
            let location = Location::of(Path::new(url));
            assert_eq!(location, Location::Postgres(url.to_owned()));
            assert_eq!((location.to_string(), format!("{location:?}")), (shown.to_owned(), format!("{shown:?}")));
            assert!(location.exists() && location.file().is_none());
            let bare = shown.replace(":***", "").replace("&password=***", "").replace("?password=***", "");
            let bare = (bare != url).then_some(Location::Postgres(bare));
            assert_eq!(location.without_password(), bare);
        }
    }

    #[test]
    fn everything_else_is_a_file() {
        for path in ["loom.db", "/var/postgres://x", "./postgres://ann@db/loom", "http://db/loom"] {
            assert_eq!(Location::of(Path::new(path)).file(), Some(Path::new(path)), "{path}");
        }
    }
}
