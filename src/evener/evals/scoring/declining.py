"""Replies that decline, and replies that reject what a question takes for granted, by their words. English and Chinese.

How often each is recognised was measured on labelled replies: docs/explanation/evaluations.md. Pure.
"""

from __future__ import annotations

import re

_NOT = r"(?:not|never|nowhere|\w+n['’]t|cannot)"
_SOURCE = r"(?:text|passage|context|article|document|story|paragraph|question|author|source|excerpt|history|it|you)"
_DECLINES = re.compile(
    "|".join(
        (
            # the text does not say; you have not told me
            rf"\b{_SOURCE}\b[^.!?\n]{{0,20}}\b{_NOT}\b[^.!?\n]{{0,30}}\b(?:says?|states?|mentions?|specif\w+|"
            rf"provide|contain|"
            r"include|give|given|tell|told|indicate|disclose|reveal|explain|name|address|answer|preserve\w*|"
            r"record\w*)\b",
            # it is never explained; the buyer is not named
            rf"\b{_NOT}\b[^.!?\n]{{0,25}}\b(?:stated|mentioned|specified|provided|given|indicated|disclosed|"
            rf"revealed|"
            r"explained|named|told|identified|clear|covered|(?:text|passage|article) (?:talks?|speaks?)|"
            r"recorded|documented|answerable|known(?! (?:for|as))|in the (?:text|passage|context))\b",
            r"\bnot (?:stated|mentioned|specified|provided|given|known(?! (?:for|as))|disclosed|available|"
            r"answerable)\b",
            r"\b(?:text|passage|context|article)\b[^.!?\n]{0,30}\b(?:silent|leaves?\b[^.!?\n]{0,40}\bout|"
            r"(?:says?|gives?|"
            r"tells?|mentions?|provides?|offers?|contains?|has) (?:us )?(?:nothing|no)\b)",
            r"\bno\b[^.!?\n]{0,40}\b(?:stated|mentioned|specified|provided|given|recorded|named|"
            r"identified)\b",
            r"\b(?:unclear|unknowable|unmentioned|unspecified|undisclosed|unstated|unrecorded|unidentified|"
            r"omit(?:s|ted)|"
            r"left out|leave it out|skips? (?:that|this|it)|goes? unsaid|only be guessed)\b|^\W*n/a\b|"
            r"\bdepends on\b",
            r"\b(?:text|passage|context|article|excerpt|source)\b[^.!?\n]{0,10}\bhas no\b|"
            r"\bno (?:\w+ )?(?:answer|sources?)\b",
            r"\b(?:no one|nobody|no human) (?:can|could)\b",
            r"\bno (?:such )?(?:information|mention|data|records?|details?|evidence|indication|access|"
            r"way (?:of|to|for))\b",
            # nobody can know
            r"\b(?:cannot|can['’]t|can not|could not|couldn['’]t|no way to|unable to|"
            r"impossible to)\b[^.!?\n]{0,30}\b(?:"
            r"answer\w*|determin\w*|know|known|tell|say|predict\w*|verif\w+|confirm|infer\w*|worked out|see|"
            r"calculat\w+)\b",
            r"\b(?:do not|don['’]t|nobody|no one|only you|did not|didn['’]t)\b[^.!?\n]{0,12}\b(?:know|knows|"
            r"have access|"
            r"counted)\b",
            r"\b(?:not enough|insufficient|need more|more) (?:information|context|detail)\b",
            r"\b(?:is|are|remains?) unknown\b|^\W*unknown\b|\bunanswerable\b|\bi['’]?m not (?:sure|certain|"
            r"aware)\b",
            r"\b(?:does|doesn|did|do) ?(?:not|n['’]t) (?:say|specify|mention)\b|\blost to history\b",
            r"(?:没有?|未|并未|未曾|不曾)(?:明确|具体|直接)?(?:提|说|写|讲|谈|给|交代|解释|记载|透露|涉及|留下|告诉|相关|足够|任何|"
            r"找到答案|列出|注明|这方面|信息|数据|公布|指明|知)",
            r"(?:无法|没法|没办法|不能|无从|不可能|难以)(?:得知|知|确定|回答|判断|预测|确认|推断|考证|数清|计算|从|看)|找不到|"
            r"不(?:知道|清楚|确定|太确定|得而知|详|明|可考)|信息不足|缺少(?:信息|数量|数据|条件)|未知|无人知|算不出|(?:法|没办法|没法)(?:算|数)|看不到|答不(?:上|"
            r"出)|略过|没有?人(?:能)?(?:知道|数)|谁也不知|"
            r"只有(?:你|您)(?:自己)?(?:才)?知道|无可奉告",
        )
    ),
    re.IGNORECASE,
)
# A reply that says so and then guesses has answered.
_GUESSES = re.compile(
    r"\b(?:probably|i['’]?(?:d| would) (?:say|guess|estimate)|my (?:best )?guess|most likely|something like|"
    r"roughly|clearly|(?:but|though)\b[^.!?\n]{0,20}"
    r"\b(?:must|may|might|likely|should))\b|显然|上下[。]?$|左右|估计|大概|应该是|应该有|也许是|我猜|可能是|(?:但|不过)(?:应该|可能|也许)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[.,;:!?，；：。！？\n]+|\b(?=(?:although|though|that|which|who|because|when|while)\b)", re.IGNORECASE
)
# A clause that only adds something to an answer: what it denies is not what the question took for granted.
_ASIDE = re.compile(
    r"(?:although|though|that|which|who|because|when|while|but|not|never|no later)\b|"
    r"不过|但|虽然|因为|由于|那时|当时|而且|而不是|并非|不多|不超过|最晚",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"(?:and|it|its|he|she|they|his|her|their)\b|目前|这|那|他|她|它|其", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:no|not|never|none|zero|nobody|nothing|cannot|only (?:one|once)|just (?:one|once)|\w+n['’]t|"
    r"\w{3,}less|rather than|"
    r"instead of|false|incorrect|error|mistaken?|wrong|myth|misconception|premise)\b|"
    r"没有|没|不存在|并无|从未|从来|并不|并非|不是|不会|不可能|谈不上|无(?!论|数)|只(?:有|获得|得|拿)?过?一|前提|误解|有误|"
    r"错误|误|不正确|不属于",
    re.IGNORECASE,
)
# What a clause names it does not offer: it denies it, or says that others think so.
TAKES_BACK = re.compile(
    _DENIES.pattern
    + r"|\b(?:unlike|confus\w+|mistak\w+|people|(?:some|many|most) (?:say|think|believe)|often|commonly|popularly)\b|"
    r"而非|不像|人们|有人|很多人|许多人|常被|常说|混淆",
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """Whether a reply says that it does not know, or that nothing given tells, and leaves it at that."""
    return bool(_DECLINES.search(text)) and not _GUESSES.search(text)


def rejects(text: str) -> bool:
    """Whether a reply denies, in a clause of its own, what the question takes for granted."""
    clauses = [clause.strip() for clause in _CLAUSE_END.split(text) if clause.strip()]
    return any(
        _DENIES.search(clause) and not _ASIDE.match(clause) and not (number and _GOES_ON.match(clause))
        for number, clause in enumerate(clauses)
    )
