"""What to write into common editors and chat clients. Pure. The key is never in it: only where to put it."""

from __future__ import annotations

from dataclasses import dataclass

KEY = "YOUR-KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One client's settings, as they are pasted; `where` says into what."""

    client: str
    where: str
    text: str


def settings(url: str, model: str, context: int) -> tuple[Settings, ...]:
    """For one model behind the door at `url`, without a trailing slash; `context` is what each request has."""
    base = f"{url}/v1"
    return (
        Settings(
            client="Open WebUI, Jan, Chatbox, LibreChat and whatever speaks OpenAI",
            where="its connection settings",
            text=f"base URL  {base}\nAPI key   {KEY}\nmodel     {model}",
        ),
        Settings(
            client="Continue (VS Code, JetBrains)",
            where="~/.continue/config.yaml, under models:",
            text=(
                f"- name: {model}\n  provider: openai\n  model: {model}\n  apiBase: {base}\n  apiKey: {KEY}\n"
                f"  roles: [chat, edit, apply]\n  defaultCompletionOptions:\n    contextLength: {context}"
            ),
        ),
        Settings(
            client="Cline, Roo Code (VS Code)",
            where='provider "OpenAI Compatible"',
            text=f"Base URL: {base}   API Key: {KEY}   Model ID: {model}   Context Window: {context}",
        ),
        Settings(
            client="Zed",
            where="settings.json",
            text=(
                '{"language_models": {"openai_compatible": {"team": {"api_url": "' + base + '",\n'
                f'  "available_models": [{{"name": "{model}", "max_tokens": {context}}}]}}}}}}'
            ),
        ),
        Settings(
            client="aider",
            where="a shell",
            text=f"export OPENAI_API_BASE={base} OPENAI_API_KEY={KEY}; aider --model openai/{model}",
        ),
        Settings(
            client="llama.vim, llama.vscode",
            where="its endpoint; the model has to know fill-in-the-middle",
            text=f"{url}/infill",
        ),
        Settings(
            client="Python",
            where="pip install openai",
            text=f'OpenAI(base_url="{base}", api_key="{KEY}").chat.completions.create(model="{model}", messages=[...])',
        ),
    )
