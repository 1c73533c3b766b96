# SPDX-License-Identifier: Apache-2.0
# Rules that compilers do not check. Each check also proves that it can fail.
source_checks = \
    %D%/blocks.py \
    %D%/catalog.py \
    %D%/chart.py \
    %D%/compatibility.py \
    %D%/documented.py \
    %D%/examples.py \
    %D%/format.py \
    %D%/helps.py \
    %D%/includes.py \
    %D%/labels.py \
    %D%/pages.py \
    %D%/reference.py \
    %D%/schemas.py \
    %D%/site.py \
    %D%/tree.py \
    %D%/units.py \
    %D%/words.py
TESTS += $(source_checks)
EXTRA_DIST += $(source_checks) %D%/sources.py
