
M
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
M
x1Placeholder*
_user_specified_namex1*
dtype0*
shape:
#
truedivRealDivx0x1*
T0
 
IsNanIsNantruediv*
T0
%
	truediv_1RealDivx0x1*
T0
"
IsInfIsInf	truediv_1*
T0
%
	truediv_2RealDivx0x1*
T0
(
IsFiniteIsFinite	truediv_2*
T0
$
IdentityIdentityIsNan*
T0

&

Identity_1IdentityIsInf*
T0

)

Identity_2IdentityIsFinite*
T0
"ª