//! Parser of verdicts. Judges are models that are asked for JSON and may answer in prose. An answer that is not clear
//! is not a verdict.

use super::plan::extract_json;
use crate::types::one_line;

/// Verdict on a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// True if the result meets the criteria.
    pub passed: bool,
    /// Reason of the verdict; may be empty.
    pub why: String,
}

const YES: &[&str] = &["pass", "passed", "passes", "yes", "approved", "accepted", "true", "ok", "verified", "done"];
const NO: &[&str] = &["fail", "failed", "fails", "no", "not", "rejected", "refused", "false", "incomplete", "cannot"];

/// Parses a verdict; `None` if the answer is not clear.
#[must_use]
pub fn read(text: &str) -> Option<Verdict> {
    if let Some(value) = extract_json(text).filter(serde_json::Value::is_object) {
        let said = ["passed", "pass", "verdict", "ok"].iter().find_map(|name| value.get(name));
        let passed = said.and_then(|said| said.as_bool().or_else(|| leading_verdict(said.as_str()?)))?;
        let why = ["why", "reason", "reasons", "explanation"].iter().find_map(|name| value.get(name)?.as_str());
        return Some(Verdict { passed, why: why.unwrap_or("").trim().to_owned() });
    }
    // In prose the verdict is the first word of the text, or the word after `verdict`.
    let plain = text.trim();
    let lower = plain.to_lowercase();
    let named = lower.find("verdict").map(|at| &lower[at + "verdict".len()..]);
    let passed = named.and_then(leading_verdict).or_else(|| leading_verdict(&lower))?;
    Some(Verdict { passed, why: one_line(plain) })
}

/// Returns whether a text begins with a yes or a no; `None` for any other word.
fn leading_verdict(text: &str) -> Option<bool> {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())?.to_lowercase();
    if YES.contains(&first.as_str()) {
        // Handles `Passed? No.`
        let rest: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let turned = rest.get(1).is_some_and(|second| NO.contains(&second.to_lowercase().as_str()));
        return (!turned).then_some(true);
    }
    NO.contains(&first.as_str()).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_parsed_from_prose_and_fences() {
        let passed = |text: &str| read(text).map(|verdict| verdict.passed);
        for text in [
            r#"{"passed": true, "why": "it is there"}"#,
            "I looked.\n```json\n{\"passed\": \"yes\"}\n```\nSo it is.",
            r#"So: {"verdict": "PASS", "reason": "fine"}."#,
        ] {
            assert_eq!(passed(text), Some(true), "{text}");
        }
        for text in [r#"{"passed": false}"#, r#"{"pass": "no", "why": "x"}"#, r#"{"verdict":"Failed: two tests"}"#] {
            assert_eq!(passed(text), Some(false), "{text}");
        }
        assert_eq!(read(r#"{"passed": false, "why": " two tests fail "}"#).unwrap().why, "two tests fail");
    }

    #[test]
    fn only_clear_prose_is_a_verdict() {
        let passed = |text: &str| read(text).map(|verdict| verdict.passed);
        for text in ["PASSED. All criteria hold.", "Yes, it does.", "I read it.\nVerdict: pass", "**Approved**"] {
            assert_eq!(passed(text), Some(true), "{text}");
        }
        for text in ["No. The file is missing.", "FAIL", "Verdict: not passed", "Rejected: nothing was done"] {
            assert_eq!(passed(text), Some(false), "{text}");
        }
        for text in ["", "The work looks quite good overall.", "Well …", "{\"score\": 7}", "Passed? No.", "[1, 2]", "✓"]
        {
            assert_eq!(passed(text), None, "{text}");
        }
    }
}
