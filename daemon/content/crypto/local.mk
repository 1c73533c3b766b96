# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
daemon_content_libcontent_a_SOURCES += \
    %D%/base64.cpp \
    %D%/base64.hpp \
    %D%/client_certificate.cpp \
    %D%/client_certificate.hpp \
    %D%/cms.hpp \
    %D%/cms_sign.cpp \
    %D%/cms_verify.cpp \
    %D%/key_store.cpp \
    %D%/key_store.hpp \
    %D%/module_certificate.cpp \
    %D%/module_certificate.hpp \
    %D%/module_sign.cpp \
    %D%/module_signature.cpp \
    %D%/module_signature.hpp \
    %D%/openssl.cpp \
    %D%/openssl.hpp \
    %D%/sha256.cpp \
    %D%/sha256.hpp
