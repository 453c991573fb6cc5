// libjbig.so.0 of the wheel: the functions of libjbig that libtiff calls. libjbig itself is under the GPL, which would hold for the wheel as a whole. A
// picture that is compressed by JBIG cannot be decoded; all others do not come here.

#include <cstddef>

extern "C" {

struct jbg_dec_state;
struct jbg_enc_state;

constexpr int not_supported = -1;

const char* jbg_strerror(int) { return "pictures compressed by JBIG are not supported by this package"; }

void jbg_dec_init(jbg_dec_state*) {}
int jbg_dec_in(jbg_dec_state*, unsigned char*, std::size_t, std::size_t*) { return not_supported; }
unsigned char* jbg_dec_getimage(const jbg_dec_state*, int) { return nullptr; }
std::size_t jbg_dec_getsize(const jbg_dec_state*) { return 0; }
void jbg_dec_free(jbg_dec_state*) {}
int jbg_newlen(unsigned char*, std::size_t) { return not_supported; }

void jbg_enc_init(jbg_enc_state*, unsigned long, unsigned long, int, unsigned char**,
                  void (*)(unsigned char*, std::size_t, void*), void*) {}
void jbg_enc_out(jbg_enc_state*) {}
void jbg_enc_free(jbg_enc_state*) {}
}
