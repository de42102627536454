//! American spelling of British words, so that both are one index word: `colour`, `organise`, `licence`, `centre`.
//!
//! Texts and queries have the same rules, so a wrong conversion (`treatise` to `treatize`) changes no match. Words whose
//! relatives have another ending (`revise`, `revision`) are left out.

use std::borrow::Cow;

/// Parts of words with `our` for `or`.
const OUR: &[&str] = &[
    "ardour",
    "armour",
    "behaviour",
    "candour",
    "clamour",
    "colour",
    "demeanour",
    "endeavour",
    "favour",
    "fervour",
    "flavour",
    "glamour",
    "harbour",
    "honour",
    "humour",
    "labour",
    "neighbour",
    "odour",
    "parlour",
    "rancour",
    "rigour",
    "rumour",
    "saviour",
    "savour",
    "splendour",
    "tumour",
    "valour",
    "vapour",
    "vigour",
];
/// Beginnings of words with `c` for `s` or the reverse.
const BEGINNINGS: &[(&str, &str)] = &[
    ("licenc", "licens"),
    ("defence", "defense"),
    ("offence", "offense"),
    ("pretence", "pretense"),
    ("practis", "practic"),
];
/// Words with `re` for `er` at their end.
const RE: &[&str] =
    &["calibre", "centre", "fibre", "litre", "lustre", "meagre", "metre", "sombre", "spectre", "theatre"];
/// Forms of a verb in `ise`, the longest first.
const ISE: &[&str] = &["isations", "isation", "ising", "isers", "ised", "iser", "ises", "ise"];
/// Endings of the part before `ise` with which Americans write `ize`. `promise`, `exercise` and `advise` have others.
const BEFORE_ISE: &[&str] = &[
    "al", "an", "ar", "ard", "as", "at", "dom", "el", "en", "er", "et", "gn", "ic", "id", "il", "im", "in", "it",
    "nom", "og", "ol", "on", "or", "ot", "pt", "rn", "th", "tom", "ym",
];
/// Minimum length in bytes of the part before `ise`: `arising` and `raised` have a shorter one.
const MIN_BEFORE_ISE: usize = 4;

/// Returns a lower-case word in American spelling; other words unchanged.
pub(super) fn american(word: &str) -> Cow<'_, str> {
    if let Some(root) = OUR.iter().find(|root| word.contains(*root)) {
        return word.replace(root, &root.replace("our", "or")).into();
    }
    if let Some((british, american)) = BEGINNINGS.iter().find(|(british, _)| word.starts_with(british)) {
        return word.replacen(british, american, 1).into();
    }
    let (singular, end) = match word.strip_suffix(['s', 'd']) {
        Some(stem) => (stem, if word.ends_with('s') { "ers" } else { "ered" }),
        None => (word, "er"),
    };
    if RE.iter().any(|ending| singular.ends_with(ending)) {
        return format!("{}{end}", &singular[..singular.len() - 2]).into();
    }
    if let Some(before) = ["analys", "catalys", "paralys"].iter().find(|before| word.starts_with(*before))
        && ["e", "ed", "er", "ers", "ing"].contains(&&word[before.len()..])
    {
        return format!("{}z{}", &before[..before.len() - 1], &word[before.len()..]).into();
    }
    let verb = ISE.iter().find_map(|end| word.strip_suffix(end).map(|before| (before, end)));
    match verb {
        Some((before, end))
            if before.len() >= MIN_BEFORE_ISE && BEFORE_ISE.iter().any(|ending| before.ends_with(ending)) =>
        {
            format!("{before}iz{}", &end[2..]).into()
        }
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn british_words_become_american() {
        for (british, expected) in [
            ("colours", "colors"),
            ("behavioural", "behavioral"),
            ("neighbourhood", "neighborhood"),
            ("licence", "license"),
            ("defences", "defenses"),
            ("practising", "practicing"),
            ("centre", "center"),
            ("centred", "centered"),
            ("kilometres", "kilometers"),
            ("organise", "organize"),
            ("organisations", "organizations"),
            ("recognised", "recognized"),
            ("initialiser", "initializer"),
            ("analysing", "analyzing"),
            ("standardise", "standardize"),
        ] {
            assert_eq!(american(british), expected);
        }
        for word in [
            "hour",
            "four",
            "source",
            "promise",
            "exercise",
            "advise",
            "revision",
            "precise",
            "arising",
            "raised",
            "wise",
            "surprise",
            "analysis",
            "analyses",
            "science",
            "more",
            "score",
            "acre",
            "license",
            "realize",
            "expertise",
        ] {
            assert_eq!(american(word), word);
        }
    }
}
