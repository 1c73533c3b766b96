# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcontent.a
%C%_libcontent_a_CPPFLAGS = $(AM_CPPFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libcontent_a_SOURCES =
include daemon/content/archive/local.mk
include daemon/content/crypto/local.mk
include daemon/content/package/local.mk
include daemon/content/set/local.mk
