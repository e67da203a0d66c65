"""Replies that decline, and replies that reject what a question takes for granted, by their words. English and Chinese.

How often each is recognised was measured on labelled replies: docs/explanation/evaluations.md. Pure.
"""

from __future__ import annotations

import re

# Shown beside every figure that hangs on it. Counts of replies that nobody had looked at when the patterns stood.
MEASURED = (
    "whether a reply declines is told by its words, not always rightly: held out, in many styles, 36 of 40 that "
    "decline and 27 of 28 answers were told rightly; of a last set written to be hard 25 of 48 and 32 of 40"
)
_NOT = r"(?:not|never|nowhere|\w+n['’]t|cannot)"
_TEXT = r"(?:text|passage|context|article|document|story|paragraph|author|excerpt|source|description|material|snippet)"
_SOURCE = rf"(?:{_TEXT}|question|history|it|you|we)"
_TOLD = (
    r"(?:(?:state|mention|provide|give|indicate|disclose|reveal|explain|cover|record|document|list|include|answer|address|"
    r"discuss|detail|preserve)(?:s|d|n|ed)?|(?:specif|identif)(?:y|ies|ied)|named|told|said|clear|known(?! (?:for|as)))"
)
_ENGLISH = (
    # the text does not say; you have not told me
    rf"\b{_SOURCE}\b[^.!?\n]{{0,20}}\b{_NOT}\b[^.!?\n]{{0,30}}\b(?:says?|tells?|contains?|name|{_TOLD})\b",
    # it is never explained; the buyer is not named; no date is given
    rf"\b{_NOT}\b[^.!?\n]{{0,25}}\b(?:{_TOLD}|available|(?:text|passage|article) (?:talks?|speaks?))\b",
    rf"\bno\b[^.!?\n]{{0,40}}\b(?:{_TOLD})\b",
    # it is not in the text; nothing about it here; that is not there, not part of it
    rf"\b(?:{_NOT}|nothing|none)\b[^.!?\n]{{0,30}}\b(?:in|from|by|within) (?:the|this|that|your) {_TEXT}\b",
    r"\bnothing\b[^.!?\n]{0,20}\b(?:about|on|here|there)\b|\b\w+n['’]t there\b|\bnot (?:in )?(?:there|here)\b|"
    rf"\b{_NOT} (?:a )?part of (?:it|the {_TEXT})\b|^\W*(?:nope|none|nothing)\b",
    # the text is silent, has no such thing, only talks about something else
    rf"\b{_TEXT}\b[^.!?\n]{{0,30}}\b(?:silent|omits?|leaves?\b[^.!?\n]{{0,40}}\bout|only (?:\w+s|\w+ed)\b|"
    r"(?:says?|gives?|tells?|mentions?|provides?|offers?|contains?|holds?|has|makes?) (?:us )?(?:nothing|no)\b)",
    rf"\b{_TEXT}\b[^.!?\n]{{0,20}}\b(?:lacks?|skips?|misses|is missing|stops? short|passes over)\b",
    r"\b(?:all|only thing|everything) (?:that )?(?:we|it|you|the \w+) (?:\w+ )?(?:know|hear|learn|says?|tells?)\b",
    r"\bskips? (?:over|that|this|it)\b|\bgoes? un\w+|\bleft (?:open|out|unsaid)\b|\bleave it out\b|\bomit(?:s|ted)\b|"
    r"\bun(?:answer|explain|nam|document|record|stat|specifi|mention|disclos|identifi|confirm|resolv|reveal)\w+|"
    r"\bun(?:clear|knowable|known|said|told|certain)\b|\banonymous\b|\bonly be guessed\b|\bdepends on\b",
    # nobody can know
    r"\b(?:no one|nobody|no human|anyone|anybody) (?:can|could|ever|knows?)\b",
    r"\bno (?:such )?(?:information|mention|data|records?|details?|evidence|indication|access|source|answer|clue|idea|"
    r"telling|way (?:of|to|for)|\w+ (?:answer|sources?))\b",
    r"(?:\b(?:cannot|can['’]t|can not|could not|couldn['’]t|unable to|impossible to)|n['’]t have (?:any|a) way)\b"
    r"[^.!?\n]{0,30}\b(?:answer\w*|determin\w*|know|knowing|known|tell|say|predict\w*|foresee\w*|guess\w*|find|verif\w+|"
    r"confirm|infer\w*|worked out|see|calculat\w+|read)\b",
    r"\b(?:do not|don['’]t|nobody|no one|only you|did not|didn['’]t)\b[^.!?\n]{0,12}\b(?:know|knows|have access|"
    r"counted)\b",
    r"\b(?:not enough|insufficient|need more|more|without) (?:info|information|context|detail|data)\b|"
    r"\bc[ao]me up empty\b|\bdon['’]t have (?:your|that|this|enough|any)\b|\b(?:is|are) absent\b|"
    r"\bno (?:known|surviving|written) \w+",
    r"\bi['’]?m not (?:sure|certain|aware)\b|\blost to (?:history|time|us)\b|\bbeats me\b|\bwho knows\b|"
    r"\b(?:anyone|anybody)['’]s guess\b|\bgood as mine\b|^\W*n/a\b|\bnull\b|"
    r"\bgave\b[^.!?\n]{0,30}\bbut not\b|\bmissing\b",
)
_ZH_FACTS = "信息|数量|数据|条件|资料|线索|依据|证据|记录|说明|细节|史料|文献"
_CHINESE = (
    # 没有说明，并未提到，未述及
    r"(?:没有?|未|并未|未曾|不曾|没能)(?:明确|具体|直接|能)?(?:提|说|写|讲|谈|给|交代|解释|记载|透露|涉及|述|载|留下|告诉|相关|"
    rf"找到答案|列出|注明|这方面|公布|公开|披露|指明|知|(?:足够|任何)?的?(?:{_ZH_FACTS}))",
    # 文里没有，材料里没有这一项
    r"(?:文|材料|资料|段|话|史料|记载|文章|内容)(?:里|中|上|内|当中|字)?[^，。！？\n]{0,10}(?:没有?|缺[少失乏])",
    r"(?:只|仅)(?:是)?(?:知道|说|提|讲|写|谈|介绍|告诉)|一?个?字(?:也|都)?(?:没|未|不)|只字|闭口|避而不谈",
    # 无法得知，看不出来，猜不着
    r"(?:无法|没法儿?|没办法|不能|无从|不可能|难以|根本没)(?:得知|知|确定|回答|判断|预测|预料|预知|确认|推断|考证|查证|核实|数清|"
    r"计算|统计|从|看|猜|算|数)|"
    r"(?:找|看|猜|查|数|说|答|算|料|想|读|推|得)不(?:到|出|着|见|清|准|上|过来|了)|谁(?:也|都)?(?:不知|知道|晓得|数得)|预料不到",
    rf"不(?:知道|清楚|晓得|了解|确定|太确定|得而知|详|明(?!显)|可考)|信息不足|缺(?:少|失|乏)(?:{_ZH_FACTS})|空白|阙如|未知|未详|无考|"
    r"无人知|无人能|略过|没有?人(?:能)?(?:知道|数)|谁能(?:知道|说)|^\W*无\W*$|不谈|鬼知道|天知道|随机|读心|只有(?:你|您)(?:自己)?(?:才)?知道|无可奉告|"
    r"得(?:问)?(?:你|您)自己",
)
_DECLINES = re.compile("|".join((*_ENGLISH, *_CHINESE)), re.IGNORECASE)
# What is said of an answer beside it: a cousin who is not named is a cousin.
_RELATIVE = re.compile(
    r"(?:,\s*(?:which|though|although)|\bwho(?:se)?|\bthat (?:has|had|was|were|is))\b[^,.;:!?\n]*", re.IGNORECASE
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
    r"\b(?:no|not|never|none|zero|nobody|nothing|cannot|(?:only|just) (?:has|have|had|got|won|one|once|a|two|three)|"
    r"a single|\w+n['’]t|without|\w{3,}less|rather than|instead of|false|incorrect|error|mistaken?|wrong|myth|"
    r"misconception|premise|assum(?:es|ption)|presuppos\w+|trick question|confus\w+|mix(?:ed|ing) up|fiction\w*|"
    r"imaginary|made up)\b|"
    r"没有|没|不存在|并无|从未|从来|从不|并不|并非|不是|不会|不可能|谈不上|无(?!论|数)|只(?:有|获得|得|拿)?过?一|才[一两三四五六七八九十]|"
    r"前提|误解|有误|错误|误|[记搞弄说问]错|错了|不正确|不属于|不通|不在|另有其人|子虚乌有|虚构|杜撰|捏造|何来|哪来|哪有",
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
    return bool(_DECLINES.search(_RELATIVE.sub(" ", text))) and not _GUESSES.search(text)


def rejects(text: str) -> bool:
    """Whether a reply denies, in a clause of its own, what the question takes for granted."""
    clauses = [clause.strip() for clause in _CLAUSE_END.split(text) if clause.strip()]
    return any(
        _DENIES.search(clause) and not _ASIDE.match(clause) and not (number and _GOES_ON.match(clause))
        for number, clause in enumerate(clauses)
    )
