//! The text of a page: what it has to say, without what stands around that.
//!
//! Tokens come from `html5gum`, which reads what browsers read; no tree is built. What is for machines, and menus, forms and
//! footers, is left out; where a page marks its main part, only that counts; and paragraphs that are nothing but links are
//! taken for menus too. That is less than browsers' reader views do, and enough to read an article.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// What holds nothing to read.
const MACHINES: [&str; 11] =
    ["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "math", "video"];
/// What stands around the text.
const AROUND: [&str; 8] = ["nav", "header", "footer", "aside", "form", "button", "select", "dialog"];
/// What ends a paragraph.
const BLOCKS: [&str; 35] = [
    "address",
    "article",
    "blockquote",
    "body",
    "br",
    "caption",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "td",
    "tr",
    "ul",
];
/// What marks the main part.
const MAIN: [&str; 2] = ["main", "article"];
/// Characters that a marked part must have to count.
const ENOUGH: usize = 200;
/// Elements that can be open at once; deeper ones are not told apart.
const DEEPEST: usize = 512;

/// The main text of a page: paragraphs, one a line, with an empty line before headings.
pub(super) fn main_text(page: &str) -> String {
    let main = read(page, true, true);
    if main.chars().count() >= ENOUGH {
        return main;
    }
    let all = read(page, false, true);
    // A page whose menu never ends, or that is made of menus.
    if all.is_empty() { read(page, false, false) } else { all }
}

/// A text with tags and entities, as services give titles and excerpts, without them.
pub(super) fn plain(text: &str) -> String {
    if text.contains(['<', '&']) { read(text, false, false) } else { text.to_owned() }
}

fn read(page: &str, only_main: bool, no_menus: bool) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = HtmlReader { only_main, no_menus, ..HtmlReader::default() };
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.open(&String::from_utf8_lossy(&tag.name), tag.self_closing),
            Token::EndTag(tag) => reader.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    reader.end_paragraph();
    reader.out.trim().to_owned()
}

#[derive(Default)]
struct HtmlReader {
    only_main: bool,
    no_menus: bool,
    /// What was left out, the outermost first: everything until it ends again.
    left_out: Vec<String>,
    /// How many marked parts are open, how many links, how many preformatted parts.
    main: usize,
    link: usize,
    preformatted: usize,
    paragraph: String,
    /// Characters of the paragraph that are links.
    linked: usize,
    /// What stands before the paragraph.
    mark: &'static str,
    out: String,
}

impl HtmlReader {
    fn is_left_out(&self, name: &str) -> bool {
        MACHINES.contains(&name) || self.no_menus && AROUND.contains(&name)
    }

    fn open(&mut self, name: &str, empty: bool) {
        if self.is_left_out(name) {
            let closes = !empty && self.left_out.len() < DEEPEST;
            // A page may leave `</head>` out; what begins its body ends it.
            if closes {
                self.end_paragraph();
                self.left_out.push(name.to_owned());
            }
            return;
        }
        if name == "body" && self.left_out.iter().all(|open| open == "head") {
            self.left_out.clear();
        }
        if !self.left_out.is_empty() {
            return;
        }
        if BLOCKS.contains(&name) {
            self.end_paragraph();
        }
        match name {
            "a" => self.link += 1,
            "pre" => self.preformatted += 1,
            "li" => self.mark = "- ",
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.mark = "# ",
            name if MAIN.contains(&name) => self.main += 1,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(at) = self.left_out.iter().rposition(|open| open == name) {
            self.left_out.truncate(at);
            return;
        }
        if !self.left_out.is_empty() {
            return;
        }
        if BLOCKS.contains(&name) {
            self.end_paragraph();
        }
        match name {
            "a" => self.link = self.link.saturating_sub(1),
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            name if MAIN.contains(&name) => self.main = self.main.saturating_sub(1),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.left_out.is_empty() || self.only_main && self.main == 0 {
            return;
        }
        if self.preformatted > 0 {
            self.paragraph.push_str(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.space();
        }
        for (at, word) in text.split_whitespace().enumerate() {
            if at > 0 {
                self.space();
            }
            self.paragraph.push_str(word);
            self.linked += if self.link > 0 { word.len() } else { 0 };
        }
        if text.ends_with(char::is_whitespace) {
            self.space();
        }
    }

    fn space(&mut self) {
        if !self.paragraph.is_empty() && !self.paragraph.ends_with(char::is_whitespace) {
            self.paragraph.push(' ');
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let (linked, mark) = (std::mem::take(&mut self.linked), self.mark);
        let text = paragraph.trim();
        if text.is_empty() {
            return;
        }
        self.mark = "";
        // A link alone is a menu's; one in a sentence is not.
        if self.no_menus && mark != "# " && linked * 10 > text.len() * 8 && text.len() < 200 {
            return;
        }
        if mark == "# " && !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(mark);
        self.out.push_str(text);
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_article_is_what_it_says() {
        let words = "The lamp was lit at dusk by the keeper's daughter. ".repeat(6);
        let page = format!(
            "<!doctype html><html><head><title>T</title><style>p{{}}</style><body><nav><ul><li><a href=/>Home</a></ul></nav>\
             <header>Site</header><div><a href=x>Menu</a></div><main><h1>The&nbsp;Light</h1><p>{words}<a href=y>More</a> of \
             it.<p>Second &amp; last<br>line<ul><li>one<li>two</ul><pre>a  b\n  c</pre><script>if (a < b) {{ '</p>' }}</script>\
             <aside>Buy!</aside></main><footer>© 1912</footer>"
        );
        let text = main_text(&page);
        let words = words.trim_end();
        assert_eq!(text, format!("# The Light\n{words} More of it.\nSecond & last\nline\n- one\n- two\na  b\n  c"));
    }

    #[test]
    fn a_page_without_a_marked_part_is_read_without_its_menus() {
        let text = main_text("<div><a>Home</a></div><p>Only this.</p><div><a>About us</a> <a>Imprint</a></div>");
        assert_eq!(text, "Only this.");
        assert_eq!(main_text("<nav>never closed <p>All of it."), "never closed\nAll of it.");
        assert_eq!(main_text("plain words"), "plain words");
    }

    #[test]
    fn titles_lose_their_tags() {
        assert_eq!(plain("A <strong>bold</strong> &amp; &quot;odd&quot; title"), "A bold & \"odd\" title");
        assert_eq!(plain("a &lt; b"), "a < b");
        assert_eq!(plain("plain"), "plain");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(page in ".{0,400}", pieces in proptest::collection::vec(
            proptest::sample::select(vec!["<", ">", "</", "<!--", "<nav>", "</nav>", "<p>", "<pre", "&", "&#x0;", "<svg/>", "a", "\u{0}", "<script>", "\n"]), 0..60)) {
            main_text(&page);
            main_text(&pieces.concat());
        }
    }

    #[test]
    fn a_page_that_only_opens_is_read_in_linear_time() {
        for piece in ["<div>", "<nav>", "<a>", "<main><nav>", "</p>", "<", "&"] {
            main_text(&piece.repeat(20_000));
        }
    }
}
