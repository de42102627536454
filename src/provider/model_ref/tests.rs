use super::*;
use crate::provider::{ErrorClass, MODELS_VARIABLE};

fn env(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> + Sync {
    move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

fn endpoint(reference: &str, names: &Names, env: &Env<'_>) -> Endpoint {
    match resolve(reference, names, env).unwrap() {
        Target::Endpoint(endpoint) => endpoint,
        other => panic!("{other:?}"),
    }
}

#[test]
fn references_resolve_to_endpoints() {
    let env = env(&[("OPENAI_API_KEY", "sk-1"), ("OPENROUTER_API_KEY", "sk-2")]);
    for (reference, base_url, model, key) in [
        ("openai:gpt-4o", "https://api.openai.com/v1", Some("gpt-4o"), Some("sk-1")),
        ("openrouter:a/b:free", "https://openrouter.ai/api/v1", Some("a/b:free"), Some("sk-2")),
        ("ollama:llama3.2:3b", "http://127.0.0.1:11434/v1", Some("llama3.2:3b"), None),
        ("llamacpp:", "http://127.0.0.1:8080/v1", None, None),
        ("lmstudio:", "http://127.0.0.1:1234/v1", None, None),
        ("http://127.0.0.1:8089/v1", "http://127.0.0.1:8089/v1", None, None),
        ("http://127.0.0.1:8089/v1#/a/b.gguf", "http://127.0.0.1:8089/v1", Some("/a/b.gguf"), None),
    ] {
        let found = endpoint(reference, &Names::new(), &env);
        assert_eq!(found.base_url, base_url, "{reference}");
        assert_eq!(found.model.as_deref(), model, "{reference}");
        assert_eq!(found.key, key.and_then(Secret::new), "{reference}");
        assert_eq!(found.reference, reference);
    }
    assert_eq!(endpoint("llamacpp", &Names::new(), &env).reference, "llamacpp:");
    assert_eq!(resolve("scripted:words", &Names::new(), &env), Ok(Target::Scripted("words".into())));
}

#[test]
fn errors_list_the_known_names() {
    let names = Names::from([("fast".to_owned(), ModelConfig::default())]);
    let nothing = env(&[]);
    let error = resolve("opnai:gpt", &names, &nothing).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Configuration);
    for word in ["opnai:gpt", "openai", "ollama", "lmstudio", "fast"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let error = resolve("openai:gpt-4o", &names, &nothing).unwrap_err();
    assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    assert!(resolve("fast", &names, &nothing).unwrap_err().to_string().contains("base_url"));
}

#[test]
fn the_environment_overrides_base_urls() {
    let moved = env(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://h:1/v9/")]);
    let found = endpoint("openai", &Names::new(), &moved);
    assert_eq!((found.base_url.as_str(), found.model), ("http://h:1/v9", None));
    for (host, base_url) in [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("h", "http://h:11434/v1"),
        ("h:5", "http://h:5/v1"),
        (":5", "http://127.0.0.1:5/v1"),
        ("http://h:5/", "http://h:5/v1"),
        ("https://h", "https://h/v1"),
        ("[::]:5", "http://[::1]:5/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
    ] {
        assert_eq!(super::super::http::parse_base(&ollama_base(host)).unwrap().as_str(), base_url, "{host}");
    }
}

#[test]
fn configured_models_take_precedence() {
    let config = |text: &str| serde_yaml::from_str::<ModelConfig>(text).unwrap();
    let names = Names::from([
        ("ollama".to_owned(), config("{base_url: 'http://h/v1', model: m, temperature: 0.5, parallel: 3}")),
        ("cloud".to_owned(), config("{provider: openai, model: m, key_env: MINE}")),
        ("proxy".to_owned(), config("{provider: openai, base_url: 'http://p/v1', model: m}")),
        ("lost".to_owned(), config("{provider: openai, key_env: NOT_SET}")),
        ("zero".to_owned(), config("{provider: ollama, parallel: 0}")),
        ("odd".to_owned(), config("{provider: foo}")),
        ("both".to_owned(), config("{provider: openai, key_env: MINE, key_file: /x}")),
    ]);
    let env = env(&[("MINE", "sk-mine"), ("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", "http://elsewhere/v1")]);
    let found = endpoint("ollama", &names, &env);
    assert_eq!(
        (found.base_url.as_str(), found.parallel, found.sampling.temperature),
        ("http://h/v1", Some(3), Some(0.5))
    );
    assert_eq!((found.reference.as_str(), found.key), ("ollama", None));
    assert_eq!(endpoint("cloud", &names, &env).key, Secret::new("sk-mine"));
    let proxy = endpoint("proxy", &names, &env);
    assert_eq!((proxy.base_url.as_str(), proxy.key), ("http://p/v1", Secret::new("sk-1")));
    for (name, says) in [("lost", "NOT_SET"), ("zero", "parallel"), ("odd", "lmstudio"), ("both", "key_file")] {
        let error = resolve(name, &names, &env).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!format!("{error} {error:?}").contains("sk-"), "{error}");
    }
}

#[test]
fn a_listed_model_becomes_part_of_the_reference() {
    let listed = [RemoteModel { id: "m".into(), owned_by: Some("me".into()) }];
    let filled = |reference: &str, names: &Names| {
        let mut found = endpoint(reference, names, &env(&[]));
        found.apply_listing(listed.first(), &listed);
        (found.reference, found.model, found.parallel)
    };
    let names = Names::from([(
        "home".to_owned(),
        ModelConfig { base_url: Some("http://h".into()), parallel: Some(4), ..ModelConfig::default() },
    )]);
    assert_eq!(filled("llamacpp", &names), ("llamacpp:m".into(), Some("m".into()), Some(1)));
    assert_eq!(filled("http://h/v1", &names), ("http://h/v1#m".into(), Some("m".into()), Some(1)));
    assert_eq!(filled("home", &names), ("home".into(), Some("m".into()), Some(4)));
}

#[test]
fn a_local_model_is_a_known_name_or_a_path() {
    let env = |name: &str| (name == MODELS_VARIABLE).then(|| "/models".to_owned());
    let file = |reference: &str, names: &Names| match resolve(reference, names, &env) {
        Ok(Target::Local(model)) => (model.reference, model.path.to_string_lossy().into_owned()),
        other => panic!("{other:?}"),
    };
    let none = Names::new();
    let smollm = ("local:smollm2".to_owned(), "/models/smollm2-135m-instruct.gguf".to_owned());
    for written in ["local", "local:", "local:smollm2"] {
        assert_eq!(file(written, &none), smollm);
    }
    for path in ["/a/b.bin", "b.GGUF", "../b.gguf"] {
        assert_eq!(file(&format!("local:{path}"), &none), (format!("local:{path}"), path.to_owned()));
    }
    let configured = ModelConfig { provider: Some("local".into()), temperature: Some(0.3), ..ModelConfig::default() };
    let names = Names::from([("home".to_owned(), configured)]);
    assert_eq!(file("home", &names), ("home".to_owned(), smollm.1.clone()));
    let Ok(Target::Local(model)) = resolve("home", &names, &env) else { panic!("no model") };
    assert_eq!(model.sampling.temperature, Some(0.3));
    for (wrong, expected) in [("local:big", "smollm2"), ("local:smollm", "/path/to/"), ("local:minilm", "embeddings")] {
        assert!(resolve(wrong, &none, &env).unwrap_err().to_string().contains(expected));
    }
    let nowhere = resolve("local:smollm2", &none, &|_: &str| None).unwrap_err();
    assert!(nowhere.to_string().contains(MODELS_VARIABLE), "{nowhere}");
}

#[tokio::test]
async fn missing_weights_or_feature_gives_advice() {
    let env = |name: &str| (name == MODELS_VARIABLE).then(|| "/nowhere".to_owned());
    let error = resolve("local", &Names::new(), &env).unwrap().connect().await.err().unwrap();
    let expected = if cfg!(feature = "local") { "loom models fetch smollm2" } else { "feature `local`" };
    assert!(error.class() == ErrorClass::Configuration && error.to_string().contains(expected), "{error}");
}
