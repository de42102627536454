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

    /// Returns whether there is something to open: the file exists, or the location is a URL.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// Replaces the password before the host and in the parameters by `***`.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // A password may contain `@`, `?` and `/` unescaped; the host begins after the last `@`.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => (format!("{name}:***@"), host),
            None => (format!("{user}@"), host),
        },
        None => (String::new(), rest),
    };
    let (host, parameters) = rest.split_once('?').map_or((rest, None), |(host, all)| (host, Some(all)));
    let rest = format!("{user}{host}");
    let hide = |parameter: &str| match parameter.split_once('=') {
        Some((name @ ("password" | "sslpassword"), _)) => format!("{name}=***"),
        _ => parameter.to_owned(),
    };
    let parameters = parameters.map(|all| all.split('&').map(hide).collect::<Vec<_>>().join("&"));
    format!("{scheme}://{rest}{}", parameters.map_or_else(String::new, |all| format!("?{all}")))
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
        ] {
            let location = Location::of(Path::new(url));
            assert_eq!(location, Location::Postgres(url.to_owned()));
            assert_eq!((location.to_string(), format!("{location:?}")), (shown.to_owned(), format!("{shown:?}")));
            assert!(location.exists() && location.file().is_none());
        }
    }

    #[test]
    fn everything_else_is_a_file() {
        for path in ["loom.db", "/var/postgres://x", "./postgres://ann@db/loom", "http://db/loom"] {
            assert_eq!(Location::of(Path::new(path)).file(), Some(Path::new(path)), "{path}");
        }
    }
}
