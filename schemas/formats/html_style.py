"""How a conversation's page looks, on screens bright and dark and on paper. Pure data."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --page: #fff; --ink: #1c1e21; --faint: #646b73; --line: #dfe2e6; --code: #f5f6f8; --user: #eaf2fd;
  --link: #0b5cad; --wrong: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #17181a; --ink: #e6e7e9; --faint: #9ba1a8; --line: #34373b; --code: #222427; --user: #1d2b3d;
    --link: #7db7f5; --wrong: #f2857d;
  }
}
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { max-width: 50rem; margin: 0 auto; padding: 1.5rem 1rem 4rem;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
a { color: var(--link); }
body > header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem; padding-bottom: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0;
  color: var(--faint); font-size: .875rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
article { margin: 0 0 1.5rem; }
article > header { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline;
  margin-bottom: .35rem; font-size: .875rem; }
article > header b { font-weight: 650; } article > header :not(b) { color: var(--faint); }
article.user > .said { background: var(--user); border-radius: .6rem; padding: .65rem .9rem; }
article.tool, article.system { border-left: 3px solid var(--line); padding-left: .8rem; }
.said > * { margin: 0 0 .75rem; } .said > :last-child { margin-bottom: 0; }
.plain { white-space: pre-wrap; overflow-wrap: anywhere; }
.rich { overflow-wrap: anywhere; } .rich > :first-child { margin-top: 0; }
.rich > :last-child { margin-bottom: 0; } .rich p, .rich ul, .rich ol, .rich pre { margin: .6rem 0; }
.rich h1, .rich h2, .rich h3, .rich h4, .rich h5, .rich h6 { font-size: 1.05rem; margin: 1rem 0 .4rem; }
.rich h1 { font-size: 1.25rem; } .rich h2 { font-size: 1.15rem; } .rich li { margin: .15rem 0; }
.rich ul, .rich ol { padding-left: 1.6rem; }
.rich li > ul, .rich li > ol { margin: .15rem 0; }
.rich table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .925rem; }
.rich th, .rich td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
blockquote { margin: .6rem 0; padding-left: .9rem; border-left: 3px solid var(--line); color: var(--faint); }
code, pre { font: .875em/1.5 ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--code); border-radius: .4rem; padding: .65rem .8rem; overflow: auto;
  max-height: 32rem; margin: .35rem 0 0; }
pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; }
:not(pre) > code { background: var(--code); border-radius: .25rem; padding: .1em .3em;
  overflow-wrap: anywhere; }
pre code { font-size: inherit; }
details > summary { cursor: pointer; color: var(--faint); font-size: .875rem; overflow-wrap: anywhere; }
details.thoughts > div { border-left: 3px solid var(--line); color: var(--faint); margin-top: .35rem;
  padding-left: .8rem; }
.wrong > summary { color: var(--wrong); }
img, video { max-width: 100%; max-height: 40rem; height: auto; border-radius: .4rem; display: block; }
audio { width: 100%; }
figure { margin: 0; }
figcaption, .file { color: var(--faint); font-size: .875rem; overflow-wrap: anywhere; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; }
footer h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
footer ul { list-style: none; padding: 0; margin: 0; } footer li { margin-bottom: .6rem; }
@media print { pre { max-height: none; white-space: pre-wrap; } article { break-inside: auto; } }
"""
