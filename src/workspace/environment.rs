//! Environment of commands: the host's variables without secrets, and settings that disable colors, pagers and prompts.

use std::ffi::{OsStr, OsString};

/// Name endings and substrings of variables that are treated as secrets.
const SECRET_ENDINGS: [&str; 2] = ["_PAT", "_AUTH"];
const SECRET_WORDS: [&str; 13] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "BEARER",
    "DSN",
    "DATABASE_URL",
    "CONNECTION_STRING",
    "PRIVATE",
    "COOKIE",
    "JWT",
];
/// Folder variables that are not secrets although their names contain one of [`SECRET_WORDS`].
const FOLDER_VARIABLES: [&str; 2] = ["PWD", "OLDPWD"];

/// Variables that every command gets.
const FIXED_VARIABLES: [(&str, &str); 5] =
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Environment variables of commands. The default holds only the variables that every command gets.
#[derive(Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Filters the host's variables. Drops the variables in `keys`, names that look like secrets, and URLs with a
    /// password (`scheme://user:password@host`), except those in `passed`.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>, keys: &[String], passed: &[String]) -> Self {
        let named = |all: &[String], name: &OsStr| all.iter().any(|one| OsStr::new(one) == name);
        let kept = |name: &OsStr, value: &OsStr| {
            named(passed, name) || !named(keys, name) && !is_secret(name) && !has_url_password(value)
        };
        Self(variables.into_iter().filter(|(name, value)| kept(name, value)).collect())
    }

    /// Returns all variables; later ones take precedence.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let own = self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        own.chain(FIXED_VARIABLES.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value))))
    }
}

/// Shows only names, because values may be secret.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    !FOLDER_VARIABLES.contains(&name.as_str())
        && (SECRET_ENDINGS.iter().any(|end| name.ends_with(end)) || SECRET_WORDS.iter().any(|word| name.contains(word)))
}

/// True if a value is a URL with a password, before the host or as a parameter.
fn has_url_password(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let parameters =
        value.split_once("://").and_then(|(_, rest)| rest.split_once('?')).map(|(_, parameters)| parameters);
    let names_password =
        |parameter: &str| parameter.split('=').next().is_some_and(|name| name.to_lowercase().contains("password"));
    if parameters.is_some_and(|parameters| parameters.split('&').any(names_password)) {
        return true;
    }
    let authority = value.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_and_urls_are_detected() {
        let given = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let keys =
            ["MYSQL_PWD", "PASS", "KEY", "PGPASS", "PRIVATE_KEY_PEM", "DATABASE_URL", "APP_DSN", "BEARER", "gh_pat"];
        let mut variables: Vec<_> = keys.iter().map(|name| given(name, "value")).collect();
        variables.extend([given("REDIS_URL", "redis://:hidden@host/0"), given("HTTP_PROXY", "http://a:b@proxy")]);
        variables.push(given("LOOM_DB", "postgres://h/db?user=a&password=hidden"));
        assert!(Environment::of(variables, &[], &[]).0.is_empty());
        let kept = ["PWD", "OLDPWD", "LANG", "SSH_AUTH_SOCK"].map(|name| given(name, "http://user@host/a:b@c"));
        assert_eq!(Environment::of(kept, &[], &[]).0.len(), 4);
    }

    #[test]
    fn secrets_are_not_passed_on() {
        let names =
            ["PATH", "HOME", "OPENAI_API_KEY", "GITHUB_TOKEN", "aws_secret_access", "MY_MODEL", "DB_PASSWORD", "X_PAT"];
        let variables = || names.map(|name| (OsString::from(name), OsString::from("value")));
        let kept = |keys: &[&str], passed: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            let environment = Environment::of(variables(), &owned(keys), &owned(passed));
            assert!(!format!("{environment:?}").contains("value"));
            let names = environment.0.into_iter().map(|(name, _)| name.into_string().unwrap());
            names.collect::<Vec<_>>()
        };
        assert_eq!(kept(&[], &[]), ["PATH", "HOME", "MY_MODEL"]);
        assert_eq!(kept(&["MY_MODEL"], &["GITHUB_TOKEN"]), ["PATH", "HOME", "GITHUB_TOKEN"]);
    }
}
