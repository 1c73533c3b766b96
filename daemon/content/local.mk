# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcontent.a
%C%_libcontent_a_CPPFLAGS = $(AM_CPPFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libcontent_a_SOURCES = \
    %D%/archive/archive.cpp \
    %D%/archive/archive.hpp \
    %D%/crypto/client_certificate.cpp \
    %D%/crypto/client_certificate.hpp \
    %D%/crypto/cms.hpp \
    %D%/crypto/cms_sign.cpp \
    %D%/crypto/cms_verify.cpp \
    %D%/package/deb.cpp \
    %D%/package/deb.hpp \
    %D%/set/file_list.cpp \
    %D%/set/file_list.hpp \
    %D%/set/file_operation.cpp \
    %D%/set/file_operation.hpp \
    %D%/archive/initramfs.cpp \
    %D%/archive/initramfs.hpp \
    %D%/crypto/key_store.cpp \
    %D%/crypto/key_store.hpp \
    %D%/crypto/module_certificate.cpp \
    %D%/crypto/module_certificate.hpp \
    %D%/crypto/module_sign.cpp \
    %D%/crypto/module_signature.cpp \
    %D%/crypto/module_signature.hpp \
    %D%/archive/newc.cpp \
    %D%/archive/newc.hpp \
    %D%/crypto/openssl.cpp \
    %D%/crypto/openssl.hpp \
    %D%/package/makeself.cpp \
    %D%/package/makeself.hpp \
    %D%/package/makeself_sums.cpp \
    %D%/package/nvidia_run.cpp \
    %D%/package/nvidia_run.hpp \
    %D%/package/package.cpp \
    %D%/package/package.hpp \
    %D%/archive/pe_sections.cpp \
    %D%/archive/pe_sections.hpp \
    %D%/set/publication.cpp \
    %D%/set/publication.hpp \
    %D%/package/rpm.cpp \
    %D%/package/rpm.hpp \
    %D%/package/run_manifest.cpp \
    %D%/package/run_manifest.hpp \
    %D%/set/set_writer.cpp \
    %D%/set/set_writer.hpp \
    %D%/crypto/sha256.cpp \
    %D%/crypto/sha256.hpp \
    %D%/archive/tar_writer.cpp \
    %D%/archive/tar_writer.hpp \
    %D%/archive/tree.cpp \
    %D%/archive/tree.hpp \
    %D%/archive/unified_image.cpp \
    %D%/archive/unified_image.hpp
