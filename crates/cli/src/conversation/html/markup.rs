//! HTML out of texts that nobody vouches for: escaped, or rendered from Markdown with nothing dangerous left in it.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::output::printable;

/// `text` as it can stand in HTML, also in an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// `address`, escaped, if following it is harmless.
pub(super) fn href(address: &str) -> Option<String> {
    is_harmless(address).then(|| escape(address))
}

/// `text`, which is Markdown, as HTML. HTML in it is shown as the text it is, and images from elsewhere become links.
pub(super) fn from_markdown(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut opened = Vec::new();
    let events = Parser::new_ext(text, options).filter_map(|event| disarm(event, &mut opened));
    let mut html = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut html, events);
    // Markdown can name any character by its number.
    printable(&html).into_owned()
}

/// What a link or an image has become.
enum Became {
    Link,
    Nothing,
}

/// `event` with nothing dangerous in it. What links and images have become is remembered in `opened` until they end.
fn disarm<'a>(event: Event<'a>, opened: &mut Vec<Became>) -> Option<Event<'a>> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let is_harmless = is_harmless(&dest_url);
            opened.push(if is_harmless { Became::Link } else { Became::Nothing });
            let (link_type, title, id) = (LinkType::Inline, CowStr::from(""), CowStr::from(""));
            is_harmless.then_some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => match opened.pop() {
            Some(Became::Link) => Some(Event::End(TagEnd::Link)),
            Some(Became::Nothing) | None => None,
        },
        other => Some(other),
    }
}

/// Whether following `address` can do no more than open a page or a letter.
fn is_harmless(address: &str) -> bool {
    let has = |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    ["https://", "http://", "mailto:"].into_iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        insta::assert_snapshot!(from_markdown("# A *b*\n\n- `x < y`\n\n```rust\nlet a = \"b\";\n```\n\n|a|b|\n|---|---|\n|1|2|\n"), @r#"
        <h1>A <em>b</em></h1>
        <ul>
        <li><code>x &lt; y</code></li>
        </ul>
        <pre><code class="language-rust">let a = "b";
        </code></pre>
        <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
        <tr><td>1</td><td>2</td></tr>
        </tbody></table>
        "#);
    }

    #[test]
    fn nothing_in_a_text_can_do_harm() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div\nonclick=alert(1)>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](data:text/html,<script>)",
            "[a](vbscript:x)",
            "![a](javascript:alert(1))",
            "![a](https://host/x.png \"t\\\" onload=alert(1)\")",
            "<https://host/\"onclick=alert(1)>",
            "```\"onclick=alert(1)\n<script>\n```",
            "<!-- <script> -->",
            "<?php ?>",
            "&lt;script&gt;",
            "[a]: javascript:alert(1)\n\n[a]",
        ] {
            let html = from_markdown(text);
            let tags: Vec<&str> = html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()).collect();
            for tag in tags {
                let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
                assert!(["p", "a", "pre", "code"].contains(&name), "{text} became {html}");
                let harmless = tag.split(['"', ' ']).all(|part| !part.starts_with("on") && !part.contains("script:"));
                assert!(harmless, "{text} became {html}");
            }
        }
        assert_eq!(from_markdown("\u{1b}[2J &#27;[2J &#155;"), "<p>␛[2J ␛[2J \u{fffd}</p>\n");
        assert_eq!(escape("<a href=\"x\">'&\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;␛");
        assert_eq!((href("javascript:x"), href("file:///etc"), href("é")), (None, None, None));
    }

    #[test]
    fn images_from_elsewhere_are_links() {
        assert_eq!(
            from_markdown("![a cat](https://host/cat.png)"),
            "<p><a href=\"https://host/cat.png\">a cat</a></p>\n"
        );
        assert_eq!(from_markdown("[![x](y)](https://host)"), "<p><a href=\"https://host\">x</a></p>\n");
    }
}
