//! Main text of an HTML page, without menus, forms and footers.
//!
//! `html5gum` tokenizes as browsers do; no tree is built. Scripts, styles and boilerplate elements are skipped. If the page
//! marks its main part (`main`, `article`), only that part counts. Blocks that consist of links are dropped as menus. This
//! is simpler than the reader view of a browser, and enough for articles.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements without readable text.
const SKIPPED_TAGS: [&str; 11] =
    ["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "math", "video"];
/// Elements around the main text.
const BOILERPLATE_TAGS: [&str; 8] = ["nav", "header", "footer", "aside", "form", "button", "select", "dialog"];
/// Elements that start and end a paragraph.
const BLOCK_TAGS: [&str; 35] = [
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
/// Elements that mark the main part.
const MAIN_TAGS: [&str; 2] = ["main", "article"];
/// A marked main part with fewer characters is ignored, and the whole page is read.
const MIN_MAIN_CHARS: usize = 200;
/// Limit of skipped elements inside one another; deeper ones are not tracked.
const MAX_OPEN_ELEMENTS: usize = 512;

/// Returns the main text of a page: one paragraph per line, an empty line before headings.
pub(super) fn main_text(page: &str) -> String {
    let main = read(page, true, true);
    if main.chars().count() >= MIN_MAIN_CHARS {
        return main;
    }
    let all = read(page, false, true);
    // An unclosed menu swallows the page, and some pages consist of links only: read everything then.
    if all.is_empty() { read(page, false, false) } else { all }
}

/// Removes tags and decodes entities, as in titles and excerpts from search services.
pub(super) fn strip_tags(text: &str) -> String {
    if text.contains(['<', '&']) { read(text, false, false) } else { text.to_owned() }
}

fn read(page: &str, only_main: bool, drop_link_blocks: bool) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = HtmlReader { only_main, drop_link_blocks, ..HtmlReader::default() };
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
    drop_link_blocks: bool,
    /// Names of the open skipped elements, outermost first. Text is dropped while there is one.
    skipped: Vec<String>,
    /// Numbers of open main parts, links and preformatted parts.
    main: usize,
    link: usize,
    preformatted: usize,
    paragraph: String,
    /// Bytes of the paragraph that are inside links.
    linked: usize,
    /// Prefix of the paragraph: list item, heading or none.
    mark: &'static str,
    out: String,
}

impl HtmlReader {
    fn is_skipped(&self, name: &str) -> bool {
        SKIPPED_TAGS.contains(&name) || self.drop_link_blocks && BOILERPLATE_TAGS.contains(&name)
    }

    fn open(&mut self, name: &str, empty: bool) {
        if self.is_skipped(name) {
            let closes = !empty && self.skipped.len() < MAX_OPEN_ELEMENTS;
            // HTML allows `</head>` to be omitted: see `body` below.
            if closes {
                self.end_paragraph();
                self.skipped.push(name.to_owned());
            }
            return;
        }
        if name == "body" && self.skipped.iter().all(|open| open == "head") {
            self.skipped.clear();
        }
        if !self.skipped.is_empty() {
            return;
        }
        if BLOCK_TAGS.contains(&name) {
            self.end_paragraph();
        }
        match name {
            "a" => self.link += 1,
            "pre" => self.preformatted += 1,
            "li" => self.mark = "- ",
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.mark = "# ",
            name if MAIN_TAGS.contains(&name) => self.main += 1,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(at) = self.skipped.iter().rposition(|open| open == name) {
            self.skipped.truncate(at);
            return;
        }
        if !self.skipped.is_empty() {
            return;
        }
        if BLOCK_TAGS.contains(&name) {
            self.end_paragraph();
        }
        match name {
            "a" => self.link = self.link.saturating_sub(1),
            // An empty one must not mark what follows it.
            "li" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.mark = "",
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            name if MAIN_TAGS.contains(&name) => self.main = self.main.saturating_sub(1),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.skipped.is_empty() || self.only_main && self.main == 0 {
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
        // More than 80 % link text is a menu, not a sentence with a link.
        if self.drop_link_blocks && mark != "# " && linked * 10 > text.len() * 8 && text.len() < 200 {
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
    fn the_main_part_of_an_article_is_extracted() {
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
    fn an_empty_heading_or_item_marks_nothing() {
        assert_eq!(main_text("<h1><img src=logo></h1><p>Hello world."), "Hello world.");
        assert_eq!(main_text("<ul><li></ul><p>Words."), "Words.");
    }

    #[test]
    fn menus_are_dropped_from_a_page_without_a_main_part() {
        let text = main_text("<div><a>Home</a></div><p>Only this.</p><div><a>About us</a> <a>Imprint</a></div>");
        assert_eq!(text, "Only this.");
        assert_eq!(main_text("<nav>never closed <p>All of it."), "never closed\nAll of it.");
        assert_eq!(main_text("plain words"), "plain words");
    }

    #[test]
    fn tags_are_stripped_from_titles() {
        assert_eq!(strip_tags("A <strong>bold</strong> &amp; &quot;odd&quot; title"), "A bold & \"odd\" title");
        assert_eq!(strip_tags("a &lt; b"), "a < b");
        assert_eq!(strip_tags("plain"), "plain");
    }

    proptest::proptest! {
        #[test]
        fn any_input_is_read_without_panic(page in ".{0,400}", pieces in proptest::collection::vec(
            proptest::sample::select(vec!["<", ">", "</", "<!--", "<nav>", "</nav>", "<p>", "<pre", "&", "&#x0;", "<svg/>", "a", "\u{0}", "<script>", "\n"]), 0..60)) {
            main_text(&page);
            main_text(&pieces.concat());
        }
    }

    #[test]
    fn unclosed_elements_are_read_in_linear_time() {
        for piece in ["<div>", "<nav>", "<a>", "<main><nav>", "</p>", "<", "&"] {
            main_text(&piece.repeat(20_000));
        }
    }
}
