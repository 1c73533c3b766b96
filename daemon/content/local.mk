# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcontent.a
%C%_libcontent_a_CPPFLAGS = $(AM_CPPFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libcontent_a_SOURCES = \
    %D%/archive.cpp \
    %D%/archive.hpp \
    %D%/cms.hpp \
    %D%/cms_sign.cpp \
    %D%/cms_verify.cpp \
    %D%/file_operation.cpp \
    %D%/file_operation.hpp \
    %D%/key_store.cpp \
    %D%/key_store.hpp \
    %D%/openssl.cpp \
    %D%/openssl.hpp \
    %D%/sha256.cpp \
    %D%/sha256.hpp \
    %D%/tree.cpp \
    %D%/tree.hpp
