#!/usr/bin/python3
"""An HTML page as a C++ source: its text, and a Content-Security-Policy that lets its own style and script run.

    embed_page.py PAGE.html OUT.cpp

The page has one <style> and one <script>, which the policy names by their SHA-256 (CSP level 3, 6.7.2.4). Standard library only.
"""
import base64
import hashlib
import re
import sys


def hash_of(tag, page):
    inner = re.search(f'<{tag}>(.*?)</{tag}>', page, re.DOTALL).group(1)
    return base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()


def array(name, text):
    data = text.encode()
    rows = [', '.join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    body = ',\n    '.join(rows)
    return f'constexpr char {name}[] = {{\n    {body}}};\n'


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        page = file.read()
    policy = (f"default-src 'none'; style-src 'sha256-{hash_of('style', page)}'; script-src 'sha256-{hash_of('script', page)}'; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    with open(sys.argv[2], 'w', encoding='ascii') as out:
        out.write('// Made from the page by scripts/lib/embed_page.py.\n#include "service/page.hpp"\n\n'
                  'namespace millrace::service {\nnamespace {\n\n' + array('page', page) + '\n}  // namespace\n\n'
                  'const std::string_view page_text{page, sizeof(page)};\n'
                  f'const std::string_view page_policy = "{policy}";\n\n}}  // namespace millrace::service\n')


if __name__ == '__main__':
    main()
