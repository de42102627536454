use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::types::Permission;

struct HostToolLine<'a>(&'a str, &'a Value);

impl fmt::Display for HostToolLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, self.1)
    }
}

fn tool(name: &str, properties: Value, required: Value) -> HostTool {
    HostTool {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
        permission: Permission::LoomAware,
        only_confirms: false,
    }
}

fn weather() -> HostTool {
    let properties = json!({
        "city": { "type": "string" },
        "days": { "type": "integer" },
        "least": { "type": "number" },
        "metric": { "type": "boolean" },
        "max_rows": { "type": ["integer", "null"] },
        "units": { "type": "string", "enum": ["C", "F"] },
        "tags": { "type": "array", "items": { "type": "string" } },
        "from": { "type": "string" },
        "filter": { "type": "object" },
    });
    tool("get_weather", properties, json!(["city"]))
}

fn said(line: &str) -> Result<Value, String> {
    let extras = [weather()];
    read(line, &extras).expect("it names the tool").1
}

#[test]
fn a_backslash_that_escapes_nothing_is_written_single() {
    for (text, written) in [
        (r"lend\(|\d+", r"lend\(|\d+"),
        (r"\bat\\", r"\bat\\\\"),
        (r"a\nb", r"a\\nb"),
        ("a\\\n\\\tb", r"a\\\n\\\tb"),
        ("say \\\"no\\\"", r#"say \\\"no\\\""#),
        (r"\\(", r"\\\("),
    ] {
        let line = HostToolLine("get_weather", &json!({ "city": text })).to_string();
        assert_eq!(line, format!("get_weather city:\"{written}\""), "{text}");
        assert_eq!(said(&line), Ok(json!({ "city": text })), "{line}");
    }
}

#[test]
fn a_line_is_read_by_the_schema() {
    let paris = json!({ "city": "Paris", "days": 3 });
    for line in [
        "→ get_weather city:\"Paris\" days:3",
        "get_weather \"Paris\" days:3",
        "→ get_weather city:Paris, days:3.",
        "→ get_weather city=Paris days=3",
        "→ get_weather --city Paris --days 3",
        "→ get_weather --city=“Paris” --days=3",
        "→ get_weather city: 'Paris' days: \"3\"",
        "- `get_weather city:\"Paris\" days:3`",
        "→ `get_weather Paris DAYS:3`",
        "-> get_weather Paris days:3 # that should do",
        "→ get_weather days:3 <<<\nParis\n>>>",
        "→ get_weather {\"city\": \"Paris\", \"days\": 3}",
        "get_weather({\"city\": \"Paris\", \"days\": \"3\"})",
        "→ {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}",
    ] {
        assert_eq!(said(line), Ok(paris.clone()), "{line}");
    }
    let all = json!({
        "city": "São \"Paulo\"\n", "days": -2, "least": 0.5, "metric": true, "max_rows": 7, "units": "C",
        "tags": ["a", "b c"], "from": "x.example", "filter": { "a": [1, "→"] },
    });
    let line = r#"→ get_weather "São \"Paulo\"\n" days:-2 least:.5 metric max-rows:7 units:c tags:a tags:"b c" from:x.example filter:{"a": [1, "→"]}"#;
    assert_eq!(said(line), Ok(all));
    assert_eq!(said("→ get_weather x tags:a,b,c").unwrap()["tags"], json!(["a", "b", "c"]));
    assert_eq!(said("→ get_weather x tags:[\"a b\", \"c\"] metric:no").unwrap()["tags"], json!(["a b", "c"]));
    assert_eq!(said("→ get_weather x --metric").unwrap()["metric"], true);
    assert_eq!(said("→ get_weather https://a.example/b?c=d").unwrap()["city"], "https://a.example/b?c=d");
    assert_eq!(said("→ get_weather city:https://a.example/b,c").unwrap()["city"], "https://a.example/b,c");
    let block = "→ get_weather <<<\n  two \\n lines\n\n✓\n>>>";
    assert_eq!(said(block).unwrap()["city"], "  two \\n lines\n\n✓");
}

#[test]
fn what_does_not_fit_is_named() {
    let wrong = [
        ("→ get_weather", "city is missing"),
        ("→ get_weather Paris town:x", "there is no argument \"town\""),
        ("→ get_weather Paris --town x", "there is no argument \"town\""),
        ("→ get_weather Paris days:three", "days has the wrong form; expected: whole number"),
        ("→ get_weather Paris days:3.5", "days has the wrong form; expected: whole number"),
        ("→ get_weather Paris units:K", "units has the wrong form; expected: C, F"),
        ("→ get_weather Paris metric:perhaps", "metric has the wrong form; expected: yes or no"),
        ("→ get_weather New York", "there is no place for \"York\""),
        ("→ get_weather Paris city:London", "city is given twice"),
        ("→ get_weather Paris days:1 days:2", "days is given twice"),
        ("→ get_weather Paris days:", "days has no value"),
        ("→ get_weather Paris --days", "days has no value"),
        ("→ get_weather Paris filter:[1]", "filter has the wrong form; expected: JSON"),
        ("→ get_weather city:x <<<\ny\n>>>", "there is no place for \"y\""),
    ];
    for (line, message) in wrong {
        assert_eq!(said(line), Err(message.to_owned()), "{line}");
    }
    let extras = [weather()];
    for line in
        ["→ get_weathers x", "→ Get_Weather x", "> get_weather x", "→ view get_weather", "→ \"get_weather\"", ""]
    {
        assert!(read(line, &extras).is_none(), "{line}");
    }
    assert!(read("→ get_weather x", &[]).is_none());
}

#[test]
fn a_value_without_a_name_goes_where_one_is_wanted() {
    let number = json!({ "type": "integer" });
    let text = json!({ "type": "string" });
    let read = |tool: HostTool, line: &str| super::read(line, &[tool]).expect("it names the tool").1;
    assert_eq!(read(tool("roll", json!({ "sides": number }), json!([])), "roll 20"), Ok(json!({ "sides": 20 })));
    let note = || tool("note_to", json!({ "who": text, "what": text, "n": number }), json!(["who", "what"]));
    assert_eq!(read(note(), "note_to Ann \"hi there\""), Ok(json!({ "who": "Ann", "what": "hi there" })));
    assert_eq!(read(note(), "note_to what:hi Ann n:1"), Ok(json!({ "who": "Ann", "what": "hi", "n": 1 })));
    let none = || tool("ping", json!({}), json!([]));
    assert_eq!(read(none(), "→ ping"), Ok(json!({})));
    assert_eq!(read(none(), "→ ping x"), Err("there is no place for \"x\"".to_owned()));
    // Nothing required, and two of them: nobody can know.
    assert!(read(tool("two", json!({ "a": text, "b": text }), json!([])), "two x").is_err());
}

#[test]
fn a_call_is_held_to_the_schema() {
    let given = |value: Value| match value {
        Value::Object(given) => checked(&weather(), given),
        _ => Err(String::new()),
    };
    assert_eq!(given(json!({ "city": "x", "days": "3", "from": null })), Ok(json!({ "city": "x", "days": 3 })));
    assert!(given(json!({ "city": 3 })).is_err());
    assert!(given(json!({ "city": "x", "tags": [1] })).is_err());
    assert!(given(json!({ "city": "x", "more": 1 })).is_err());
    let mut open = weather();
    open.parameters["additionalProperties"] = json!(true);
    assert_eq!(
        checked(&open, json!({ "city": "x", "more": 1 }).as_object().cloned().unwrap_or_default())
            .map(|v| v["more"].clone()),
        Ok(json!(1))
    );
}

#[test]
fn names_that_mean_something_already_are_refused() {
    let named = |name: &str| tool(name, json!({}), json!([]));
    assert_eq!(HostTool::check(&[weather(), named("x-2")]), Ok(()));
    for name in ["view", "Show", "", "two words", "ä", "-x", "2x", "a.b", &"x".repeat(65)] {
        assert!(HostTool::check(&[named(name)]).is_err(), "{name}");
    }
    assert!(HostTool::check(&[named("ping"), named("Ping")]).is_err());
    let wrong = |parameters: Value| HostTool::check(&[HostTool { parameters, ..weather() }]);
    for parameters in [
        json!(null),
        json!({ "type": "string" }),
        json!({ "type": "object", "properties": { "a b": {} } }),
        json!({ "type": "object", "properties": { "a": true } }),
        json!({ "type": "object", "required": ["a"] }),
    ] {
        assert!(wrong(parameters.clone()).is_err(), "{parameters}");
    }
    assert_eq!(wrong(json!({ "type": "object" })), Ok(()));
}

fn arguments() -> impl Strategy<Value = Value> {
    let text = any::<String>();
    (
        (text, proptest::option::of(any::<i64>()), proptest::option::of(-1e9..1e9f64), any::<Option<bool>>()),
        (proptest::collection::vec(any::<String>(), 0..3), proptest::option::of(any::<String>())),
    )
        .prop_map(|((city, days, least, metric), (tags, inside))| {
            let mut given = json!({ "city": city });
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    given[name] = value;
                }
            };
            put("days", days.map(Value::from));
            put("least", least.map(Value::from));
            put("metric", metric.map(Value::from));
            put("tags", (!tags.is_empty()).then(|| json!(tags)));
            put("filter", inside.map(|text| json!({ "a": [text, 1] })));
            given
        })
}

proptest! {
    #[test]
    fn a_canonical_line_is_read_back(given in arguments()) {
        let line = HostToolLine("get_weather", &given).to_string();
        prop_assert_eq!(said(&line), Ok(given), "{}", line);
    }

    #[test]
    fn any_line_is_read_without_harm(rest in "\\PC{0,40}", marks in "[ :=\"'`\\[\\]{}<,.a-z-]{0,40}") {
        for rest in [rest, marks] {
            let line = format!("→ get_weather {rest}");
            if let Some((_, Ok(given))) = read(&line, &[weather()]) {
                prop_assert!(given["city"].is_string());
            }
        }
    }
}
