# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcontent.a
%C%_libcontent_a_CPPFLAGS = $(AM_CPPFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libcontent_a_SOURCES = \
    %D%/archive.cpp \
    %D%/archive.hpp \
    %D%/client_certificate.cpp \
    %D%/client_certificate.hpp \
    %D%/cms.hpp \
    %D%/cms_sign.cpp \
    %D%/cms_verify.cpp \
    %D%/deb.cpp \
    %D%/deb.hpp \
    %D%/file_list.cpp \
    %D%/file_list.hpp \
    %D%/file_operation.cpp \
    %D%/file_operation.hpp \
    %D%/initramfs.cpp \
    %D%/initramfs.hpp \
    %D%/key_store.cpp \
    %D%/key_store.hpp \
    %D%/module_certificate.cpp \
    %D%/module_certificate.hpp \
    %D%/module_sign.cpp \
    %D%/module_signature.cpp \
    %D%/module_signature.hpp \
    %D%/newc.cpp \
    %D%/newc.hpp \
    %D%/openssl.cpp \
    %D%/openssl.hpp \
    %D%/makeself.cpp \
    %D%/makeself.hpp \
    %D%/makeself_sums.cpp \
    %D%/nvidia_run.cpp \
    %D%/nvidia_run.hpp \
    %D%/package.cpp \
    %D%/package.hpp \
    %D%/pe_sections.cpp \
    %D%/pe_sections.hpp \
    %D%/publication.cpp \
    %D%/publication.hpp \
    %D%/rpm.cpp \
    %D%/rpm.hpp \
    %D%/run_manifest.cpp \
    %D%/run_manifest.hpp \
    %D%/set_writer.cpp \
    %D%/set_writer.hpp \
    %D%/sha256.cpp \
    %D%/sha256.hpp \
    %D%/tar_writer.cpp \
    %D%/tar_writer.hpp \
    %D%/tree.cpp \
    %D%/tree.hpp \
    %D%/unified_image.cpp \
    %D%/unified_image.hpp
