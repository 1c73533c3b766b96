# SPDX-License-Identifier: Apache-2.0
"""Test cases by topic."""
